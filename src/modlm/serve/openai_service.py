"""The endpoints of `/v1` in OpenAI's shape, and vLLM's for tokens: clients of theirs ask our models unchanged."""

import time
import uuid
from collections.abc import AsyncIterator, Sequence
from typing import Any

from fastapi import Response
from fastapi.responses import StreamingResponse

from modlm.integrations.prompts import Prompt, id_tables
from modlm.serve.completions import Choice, read_prompts
from modlm.serve.openai_shapes import CompletionRequest, TokenizeRequest
from modlm.serve.service import STREAM_HEADERS, Json, Service, event
from modlm.text.vocabulary import END, END_NAME, START_NAME


class OpenAiService:
    """The same models, asked as OpenAI's are."""

    def __init__(self, service: Service) -> None:
        self.service, self.begun = service, int(time.time())

    async def completions(self, body: CompletionRequest) -> Response:
        """What a model writes behind prompts; with `echo` and `logprobs` also what it says of the prompts themselves.

        Tokens are the words of a model of words, each with the space before it, else those of its tokenizer. The end of
        a sentence is a line end, behind which it goes on: `"stop": "\\n"` asks for one sentence. With `stream` as
        server-sent events, the last of which is `data: [DONE]`.
        """
        served = self.service.library.model(body.model).given(body.source)
        prompts = await self.service.worked(lambda: read_prompts(served, body, self.service.limits))
        choices = [
            Choice(served, body, prompt, place * body.n + number)
            for place, prompt in enumerate(prompts)
            for number in range(body.n)
        ]
        about = {"id": f"cmpl-{uuid.uuid4().hex}", "object": "text_completion", "created": int(time.time())}
        about["model"] = served.name
        if body.stream:
            events = self.events(choices, about, prompts if body.stream_options.include_usage else None)
            return StreamingResponse(events, 200, STREAM_HEADERS, "text/event-stream")
        for choice in choices:
            async for _ in self.service.portions(choice):
                pass
        told = [choice.taken() for choice in choices]
        return Json.of({**about, "choices": told, "usage": usage(prompts, choices)})

    async def events(
        self, choices: Sequence[Choice], about: dict[str, Any], counted: list[Prompt] | None
    ) -> AsyncIterator[bytes]:
        """The completions as server-sent events, with the numbers of tokens if prompts are to be counted."""
        for choice in choices:
            async for _ in self.service.portions(choice):
                told = choice.taken()
                if told["text"] or told["finish_reason"] or (told["logprobs"] or {}).get("tokens"):
                    yield event({**about, "choices": [told], **({"usage": None} if counted is not None else {})})
        if counted is not None:
            yield event({**about, "choices": [], "usage": usage(counted, choices)})
        yield b"data: [DONE]\n\n"

    async def models(self) -> Response:
        """The models that are served, as OpenAI lists them."""
        return Json.of({"object": "list", "data": [self._described(name) for name in self.service.library.models]})

    async def model(self, name: str) -> Response:
        """One of them."""
        return Json.of(self._described(self.service.library.model(name).name))

    def _described(self, name: str) -> dict[str, Any]:
        return {"id": name, "object": "model", "created": self.begun, "owned_by": "modlm"}

    async def tokenize(self, body: TokenizeRequest) -> Response:
        """The ids of a text's tokens, as `/v1/completions` takes them; lm-eval asks for them."""
        served, limits = self.service.library.model(body.model), self.service.limits
        asked, vocabulary = CompletionRequest(prompt=body.prompt, max_tokens=0), served.model.vocabulary
        boundary = {START_NAME: [vocabulary.start], END_NAME: [END]}.get(body.prompt)

        def answer() -> Json:
            (prompt,) = read_prompts(served, asked, limits)
            ids = [vocabulary.start] * body.add_special_tokens + (boundary or prompt.ids[prompt.places].tolist())
            tokens = id_tables(vocabulary)[0][ids].tolist()
            return Json.of({"tokens": tokens, "count": len(tokens), "max_model_len": limits.max_words})

        return await self.service.worked(answer)

    async def tokenizer_info(self) -> Response:
        """What begins and ends a line, for the first model."""
        kind = type(self.service.library.first.model.vocabulary).__name__
        return Json.of({"tokenizer_class": kind, "bos_token": START_NAME, "eos_token": END_NAME})


def usage(prompts: Sequence[Prompt], choices: Sequence[Choice]) -> dict[str, int]:
    given, drawn = sum(len(prompt.places) for prompt in prompts), sum(choice.words for choice in choices)
    return {"prompt_tokens": given, "completion_tokens": drawn, "total_tokens": given + drawn}
