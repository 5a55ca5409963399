import assert from "node:assert/strict";
import { test } from "node:test";
import { Outlet, SAID } from "../src/outlet.js";

const said = (/** @type {number} */ id) => ({ kind: "said", value: { id } });
const pose = (/** @type {number} */ t) => ({ kind: "pose", value: { t } });

test("a tab that takes what it gets misses nothing", () => {
  /** @type {import("../src/stream.js").News[]} */
  const had = [];
  const outlet = new Outlet((news) => had.push(...news));
  const told = [pose(1), said(1), pose(2), { kind: "lost" }, { kind: "hello" }, said(2)];
  for (const news of told) {
    outlet.tell(news);
    outlet.taken();
  }
  assert.deepEqual(had, told);
});

test("one that sleeps gets the newest of each kind when it wakes, the last told last, and the last words", () => {
  /** @type {import("../src/stream.js").News[][]} */
  const sent = [];
  const outlet = new Outlet((news) => sent.push(news));
  outlet.tell(pose(0));
  for (let k = 1; k <= 108_000; k++) {
    outlet.tell(pose(k));
    outlet.tell(said(k));
  }
  outlet.tell({ kind: "lost" });
  assert.deepEqual(sent, [[pose(0)]]);
  outlet.taken();
  assert.deepEqual(sent[1].slice(0, 2), [pose(108_000), { kind: "lost" }]);
  assert.deepEqual(sent[1].slice(2), Array.from({ length: SAID }, (_, k) => said(108_000 - SAID + 1 + k)));
  outlet.taken();
  assert.equal(sent.length, 2);
});
