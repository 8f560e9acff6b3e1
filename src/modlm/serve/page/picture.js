// A drawing of the page as a file: SVG with its colours written out, or PNG.

const COPIED = ["fill", "stroke", "stroke-width", "font-size", "font-family", "font-style", "font-weight", "fill-opacity"]; // all inherited
const MARGIN = 16;
const SCALE = 3; // pixels of a PNG for one of the page

/** Saves an SVG element of the page under a name that ends in .svg or .png. */
export async function save(element, name) {
  const source = standalone(element);
  const blob = name.endsWith(".svg") ? new Blob([source], { type: "image/svg+xml" }) : await painted(source, element);
  const address = URL.createObjectURL(blob);
  const link = document.createElement("a");
  Object.assign(link, { href: address, download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 10000);
}

/** The source of a drawing that needs no style sheet; colours as programs for slides know them. */
export function standalone(element) {
  const copy = element.cloneNode(true);
  const rgb = colours();
  const originals = [element, ...element.querySelectorAll("*")];
  [copy, ...copy.querySelectorAll("*")].forEach((own, at) => {
    const style = getComputedStyle(originals[at]);
    const around = at ? getComputedStyle(originals[at].parentNode) : null;
    for (const name of COPIED) {
      const value = style.getPropertyValue(name);
      if (value !== around?.getPropertyValue(name)) own.setAttribute(name, ["fill", "stroke"].includes(name) ? rgb(value) : value);
    }
    for (const { name } of [...own.attributes]) if (/^(class|role|tabindex|aria-.*)$/.test(name)) own.removeAttribute(name);
  });
  const [width, height] = size(element);
  set(copy, { xmlns: element.namespaceURI, viewBox: `${-MARGIN} ${-MARGIN} ${width} ${height}`, width, height });
  const ground = document.createElementNS(element.namespaceURI, "rect");
  set(ground, { x: -MARGIN, y: -MARGIN, width, height, fill: rgb(getComputedStyle(element.closest(".card")).backgroundColor) });
  copy.prepend(ground);
  return new XMLSerializer().serializeToString(copy);
}

const set = (element, attributes) => Object.entries(attributes).forEach(([name, value]) => element.setAttribute(name, value));
const size = ({ width, height }) => [width, height].map(({ baseVal }) => Math.ceil(baseVal.value) + 2 * MARGIN);

async function painted(source, element) {
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(source)}`;
  await image.decode();
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = size(element).map((length) => SCALE * length);
  canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
  return new Promise((done) => canvas.toBlob(done, "image/png"));
}

/** From colours as style sheets write them to #rrggbb, and "none" for what cannot be seen. */
function colours() {
  const known = new Map();
  const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  return (colour) => {
    if (colour === "none") return colour;
    if (!known.has(colour)) {
      canvas.clearRect(0, 0, 1, 1);
      canvas.fillStyle = colour;
      canvas.fillRect(0, 0, 1, 1);
      const [red, green, blue, alpha] = canvas.getImageData(0, 0, 1, 1).data;
      known.set(colour, alpha ? `#${[red, green, blue].map((part) => part.toString(16).padStart(2, "0")).join("")}` : "none");
    }
    return known.get(colour);
  };
}
