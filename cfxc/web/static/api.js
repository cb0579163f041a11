// What the page asks of its server.

let token = "";

export class Refused extends Error {
  constructor(message, where) {
    super(message);
    this.where = where || {};
  }
}

async function answered(response) {
  if (response.ok) return response;
  let said = {};
  try {
    said = await response.json();
  } catch {
    said = { error: `the server answered ${response.status}` };
  }
  throw new Refused(said.error, said.where);
}

async function reached(path, options) {
  try {
    return await fetch(path, options);
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Refused("The server does not answer. Is cfxc serve still running?");
  }
}

export async function get(path) {
  const found = await (await answered(await reached(path))).json();
  if (found.token) token = found.token;
  return found;
}

export async function post(path, body, signal) {
  const headers = { "content-type": "application/json", "x-cfxc-token": token };
  return answered(await reached(path, { method: "POST", headers, signal, body: JSON.stringify(body) }));
}

// Calls told(message) for every line; aborting the signal calls the search off.
export async function stream(path, body, signal, told) {
  const reader = (await post(path, body, signal)).body.getReader();
  const decoder = new TextDecoder();
  let rest = "";
  let last = null;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    const lines = (rest + decoder.decode(value, { stream: true })).split("\n");
    rest = lines.pop();
    for (const line of lines) if (line) told((last = JSON.parse(line)));
  }
  if (!last || !("done" in last || "error" in last)) throw new Refused("The server ended before the search did.");
}

export function save(blob, name) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

// An element with attributes and children; texts are texts, never HTML.
export function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === true) element.setAttribute(name, "");
    else if (value !== false && value != null) element.setAttribute(name, value);
  }
  element.append(...children.filter((child) => child != null));
  return element;
}

// A name's parts, so that a line may end behind _ or before a hump, as in camelCase.
export function breakable(name) {
  const parts = name.split(/(?<=_)(?!_)|(?<=[\p{Ll}\d])(?=\p{Lu})/u);
  return parts.flatMap((part, i) => (i ? [document.createElement("wbr"), part] : [part]));
}

export const $ = (id) => document.getElementById(id);
