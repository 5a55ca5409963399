import assert from "node:assert/strict";
import { test } from "node:test";
import { asked } from "../src/gamepad.js";

const buttons = (/** @type {number[]} */ ...down) => Array.from({ length: 12 }, (_, k) => ({ pressed: down.includes(k) }));

test("without a shoulder button held nothing is asked for", () => {
  assert.equal(asked({ axes: [1, 1, 1, 1], buttons: buttons() }), null);
});

test("sticks within their dead zone ask for rest", () => {
  assert.deepEqual(asked({ axes: [0.1, -0.1, 0, 0], buttons: buttons(4) }), { linear: [0, 0, 0] });
});

test("the left stick forwards moves the tip forwards, the right one up", () => {
  assert.deepEqual(asked({ axes: [0, -1, 0, 0], buttons: buttons(5) }), { linear: [1, 0, 0] });
  assert.deepEqual(asked({ axes: [0, 0, 0, -1], buttons: buttons(5) }), { linear: [0, 0, 1] });
  assert.deepEqual(asked({ axes: [0, 0, 1, 0], buttons: buttons(5) }), { pitch: 1 });
});
