# modlm serve in a container: a small image, a user without rights, every kernel compiled when the image is built.
#
#   docker build -t modlm .
#   docker run --rm -p 127.0.0.1:8765:8765 -v "$PWD/models:/models:ro" -e MODLM_TOKEN=secret modlm serve /models/kn
#
# The server listens on every address of the container (MODLM_HOST); -p says which of the host's reach it.
# Nets need torch: docker build --build-arg EXTRAS=serve,neural -t modlm .
FROM python:3.11-slim AS build
ARG EXTRAS=serve
ENV PIP_EXTRA_INDEX_URL=https://download.pytorch.org/whl/cpu
WORKDIR /build
COPY pyproject.toml constraints.txt README.md LICENSE ./
COPY src src
COPY recipes recipes
RUN python -m venv /opt/modlm \
    && /opt/modlm/bin/pip install --no-cache-dir --constraint constraints.txt ".[${EXTRAS}]"

FROM python:3.11-slim
COPY --from=build /opt/modlm /opt/modlm
RUN useradd --create-home --uid 10001 modlm && mkdir /models /cache && chown modlm /cache
ENV PATH=/opt/modlm/bin:$PATH NUMBA_CACHE_DIR=/cache/numba MODLM_CACHE=/cache/modlm MODLM_HOST=0.0.0.0
USER modlm
RUN modlm warm
WORKDIR /models
EXPOSE 8765
HEALTHCHECK --start-period=30s CMD ["python", "-c", "import urllib.request as r; r.urlopen('http://127.0.0.1:8765/health')"]
ENTRYPOINT ["modlm"]
CMD ["serve", "/models"]
