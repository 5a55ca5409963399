import assert from "node:assert/strict";
import { test } from "node:test";
import { condition } from "../src/header.js";

/** @param {string} state @param {string} message */
const told = (state, message, stop_latched = "false", faults = /** @type {string[]} */ ([])) => condition(/** @type {any} */ ({ stop_latched, faults, hardware: { state, message } }));

test("an arm that is active is well, unless it has something to say", () => {
  assert.deepEqual(told("active", "active"), ["active", "good"]);
  assert.deepEqual(told("active", "commands paused for 0.32 s"), ["commands paused for 0.32 s", "warn"]);
  assert.deepEqual(told("active", "active", "false", ["hardware: temperature: elbow 68 °C"]), ["active, 1 warning", "warn"]);
  assert.deepEqual(told("idle", "idle"), ["idle", "warn"]);
  assert.deepEqual(told("offline", "no board answers"), ["no board answers", "bad"]);
});

test("a stop is said before all else", () => {
  assert.deepEqual(told("active", "active", "true"), ["STOPPED", "bad"]);
});
