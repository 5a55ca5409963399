import assert from "node:assert/strict";
import { test } from "node:test";
import { label } from "../src/stop.js";

test("the button says when a stop was not confirmed, and first of all when nothing can be", () => {
  assert.deepEqual(label(true, true), ["STOP", "Esc or Space"]);
  assert.deepEqual(label(true, false), ["NOT STOPPED?", "not confirmed: press again"]);
  assert.equal(label(false, false)[0], "DEAD");
});
