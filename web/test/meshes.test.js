import assert from "node:assert/strict";
import { test } from "node:test";
import { ArmFigure } from "../src/arm.js";
import { meshLoader } from "../src/meshes.js";

const EYE = [1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1];
const STL = (/** @type {string} */ x) =>
  `solid s\nfacet normal 0 0 1\nouter loop\nvertex 0 0 0\nvertex ${x} 0 0\nvertex 0 1 0\nendloop\nendfacet\nendsolid s\n`;
const FACE = "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n";

/** What of one mesh is drawn and said. @param {(signal?: AbortSignal) => Promise<Response>} answer @param {string} suffix */
async function shown(answer, suffix = ".stl") {
  const shape = { kind: "mesh", size: [1, 1, 1], pose: EYE, colour: [1, 1, 1, 1], mesh: 0, file: `part${suffix}`, suffix };
  const said = /** @type {string[]} */ ([]);
  const connection = /** @type {any} */ ({ get: (/** @type {string} */ _path, /** @type {AbortSignal} */ signal) => answer(signal) });
  const picture = /** @type {any} */ ({ root: "base", links: { base: [shape] }, joints: [], moving: [] });
  const figure = new ArmFigure(picture, "solid", meshLoader(connection, (text) => said.push(text)), () => {});
  await figure.complete;
  return { drawn: figure.links.get("base")?.children.length, said };
}

test("a mesh that comes is drawn", async () => {
  assert.deepEqual(await shown(async () => new Response(STL("1"))), { drawn: 1, said: [] });
  assert.deepEqual(await shown(async () => new Response(FACE), ".obj"), { drawn: 1, said: [] });
});

test("one that does not come, or is broken, is named, and the figure is complete without it", async () => {
  const refused = async () => Promise.reject(new Error("there is no such mesh"));
  assert.deepEqual(await shown(refused), { drawn: 0, said: ["mesh part.stl is not shown: there is no such mesh"] });
  for (const [text, suffix] of [["", ".stl"], [STL("1e999"), ".stl"], ["no mesh", ".obj"]]) {
    const { drawn, said } = await shown(async () => new Response(text), suffix);
    assert.deepEqual([drawn, said.length, said[0].startsWith(`mesh part${suffix} is not shown: `)], [0, 1, true]);
  }
});

test("nobody waits for one that never comes", async (context) => {
  context.mock.method(AbortSignal, "timeout", () => AbortSignal.abort(new Error("too late")));
  const never = (/** @type {AbortSignal | undefined} */ signal) =>
    new Promise((_, reject) => signal?.aborted && reject(signal.reason));
  assert.deepEqual(await shown(never), { drawn: 0, said: ["mesh part.stl is not shown: too late"] });
});
