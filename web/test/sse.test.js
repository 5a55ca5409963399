import assert from "node:assert/strict";
import { test } from "node:test";
import { EventReader } from "../src/sse.js";

const TEXT = 'event: pose\ndata: {"t":1}\n\n:\n\nevent: said\ndata: {"text":"zwölf"}\n\n';

test("events come out whole, wherever the text is cut", () => {
  for (let cut = 0; cut <= TEXT.length; cut++) {
    const reader = new EventReader();
    const told = [...reader.feed(TEXT.slice(0, cut)), ...reader.feed(TEXT.slice(cut))];
    assert.deepEqual(told.map(({ event }) => event), ["pose", "", "said"]);
    assert.deepEqual(JSON.parse(told[2].data), { text: "zwölf" });
  }
});

test("what has not ended is kept back", () => {
  assert.deepEqual(new EventReader().feed("event: pose\ndata: 1\n"), []);
});
