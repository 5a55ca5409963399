import assert from "node:assert/strict";
import { test } from "node:test";
import { apart, fixed, fromPerson, load, loop, marks, number, named, place, position, symbol, toPerson } from "../src/units.js";

test("joints are told in degrees, sliding ones in millimetres, and back", () => {
  assert.equal(position(Math.PI / 6, "rad"), "30.0°");
  assert.equal(position(0.0421, "m"), "42.1 mm");
  for (const unit of /** @type {const} */ (["rad", "m"])) assert.ok(Math.abs(fromPerson(toPerson(0.37, unit), unit) - 0.37) < 1e-12);
});

test("an arm that turns and slides has both units, each once", () => {
  assert.equal(named((/** @type {const} */ (["rad", "rad"])).map(symbol)), "°");
  assert.equal(named((/** @type {const} */ (["rad", "m", "rad", "m"])).map(symbol)), "° or mm");
});

test("there is no minus zero", () => {
  assert.equal(fixed(-0.0004, 1), "0.0");
  assert.equal(fixed(-0.06, 1), "-0.1");
});

test("places and distances of the tip in millimetres", () => {
  assert.equal(place([0.26, -0.08, 0.17]), "260.0, -80.0, 170.0 mm");
  assert.ok(Math.abs(apart([0, 0, 0], [0.003, 0.004, 0]) - 5) < 1e-9);
});

test("a joint beyond what it may hold is over, whatever the sign of its torque", () => {
  const limits = { hold: 0.6, peak: 0.8, stall: 1 };
  assert.deepEqual([0.3, -0.5, -0.61].map((torque) => load(torque, limits).level), ["calm", "busy", "over"]);
  assert.equal(load(-0.5, limits).share, 0.5);
});

test("rate and latency of the loop have units, and nothing is said of what nobody measured", () => {
  assert.deepEqual(loop({ period_ms: "20.04", jitter_p99_ms: "0.61", ahead_ms: "41.7" }), ["loop 49.9 Hz ± 0.6 ms", "commands 42 ms ahead"]);
  assert.deepEqual(loop({ period_ms: "None" }), []);
});

test("limits are named at their lines, and names that would run into each other become one", () => {
  assert.deepEqual(marks({ hold: 0.64, peak: 0.86, stall: 1.08 }).map(({ text }) => text), ["hold 0.64", "motion 0.86", "stall 1.08"]);
  assert.deepEqual(marks({ hold: 1, peak: 1, stall: 1 }), [{ at: 1, text: "hold 1.00, motion 1.00, stall 1.00", lines: [] }]);
  assert.deepEqual(marks({ hold: 0.4, peak: 0.5, stall: 1 })[0], { at: 0.5, text: "hold 0.40, motion 0.50", lines: [0.4, 0.5] });
});

test("numbers are typed with a comma or a point; no number is none", () => {
  assert.equal(number(" 1,5 "), 1.5);
  assert.ok(Number.isNaN(number("")) && Number.isNaN(number("1.2.3")));
});
