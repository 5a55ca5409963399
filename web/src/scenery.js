// What is drawn beside the arm: the tip's way, where it cannot be held, what stands about, and the target that is dragged.
import {
  BufferAttribute, BufferGeometry, DoubleSide, Group, Line, LineBasicMaterial, Matrix4, Mesh, MeshBasicMaterial,
  MeshLambertMaterial, Object3D, SphereGeometry, Vector3,
} from "three";
import { TransformControls } from "three/addons/controls/TransformControls.js";
import { solid } from "./arm.js";

const TRAIL = 900;
const TRAIL_STEP_M = 0.0008;

/** The way of the tip during the last motion. */
export class Trail extends Line {
  #count = 0;
  #last = [Infinity, 0, 0];

  constructor() {
    const geometry = new BufferGeometry();
    geometry.setAttribute("position", new BufferAttribute(new Float32Array(3 * TRAIL), 3));
    geometry.setDrawRange(0, 0);
    const material = new LineBasicMaterial({ transparent: true, opacity: 0.9 });
    super(geometry, material);
    this.line = material;
    this.frustumCulled = false;
  }

  clear_() {
    this.#count = 0;
    this.geometry.setDrawRange(0, 0);
  }

  /** @param {number[]} tip */
  add_(tip) {
    if (Math.hypot(...tip.map((x, k) => x - this.#last[k])) < TRAIL_STEP_M) return;
    this.#last = tip;
    const places = /** @type {Float32Array} */ (this.geometry.attributes.position.array);
    if (this.#count === TRAIL) {
      places.copyWithin(0, 3);
      this.#count -= 1;
    }
    places.set(tip, 3 * this.#count);
    this.#count += 1;
    this.geometry.setDrawRange(0, this.#count);
    this.geometry.attributes.position.needsUpdate = true;
  }

  /** @param {number[][]} tips */
  show(tips) {
    this.clear_();
    for (const tip of tips) this.add_(tip);
  }
}

/** Cells of the arm's plane in which the tip cannot be held; the plane turns with the first joint. */
export class Region extends Group {
  constructor() {
    super();
    this.material = new MeshBasicMaterial({ transparent: true, opacity: 0.3, side: DoubleSide, depthWrite: false });
  }

  /** @param {{ cells: number[][], cell_m?: number }} region */
  show({ cells, cell_m = 0.01 }) {
    for (const old of this.children) /** @type {Mesh} */ (old).geometry.dispose();
    this.clear();
    const h = cell_m / 2;
    const corners = [[-h, -h], [h, -h], [h, h], [-h, -h], [h, h], [-h, h]];
    const places = cells.flatMap(([x, z]) => corners.flatMap(([dx, dz]) => [x + dx, 0, z + dz]));
    const geometry = new BufferGeometry();
    geometry.setAttribute("position", new BufferAttribute(new Float32Array(places), 3));
    this.add(new Mesh(geometry, this.material));
  }
}

/** Shapes that the controller holds the arm clear of. */
export class Surroundings extends Group {
  #now = "";

  /** @param {{ kind: string, size: number[], at: number[], rotation: number[][] }[]} shapes */
  show(shapes) {
    const text = JSON.stringify(shapes);
    if (text === this.#now) return false;
    this.#now = text;
    this.clear();
    for (const { kind, size, at: [x, y, z], rotation: [a, b, c] } of shapes) {
      const geometry = solid({ kind, size, pose: [], colour: [] });
      if (kind === "cylinder") geometry.applyMatrix4(new Matrix4().makeRotationX(Math.PI / 2));
      const mesh = new Mesh(geometry, new MeshLambertMaterial({ color: "#9aa3b0", transparent: true, opacity: 0.55 }));
      mesh.applyMatrix4(new Matrix4().set(a[0], a[1], a[2], x, b[0], b[1], b[2], y, c[0], c[1], c[2], z, 0, 0, 0, 1));
      this.add(mesh);
    }
    return true;
  }
}

/** A ball that marks where the tip shall go, dragged by three arrows. */
export class Target extends Object3D {
  /**
   * @param {import("./stage.js").Stage} stage
   * @param {(tip: number[]) => void} moved
   */
  constructor(stage, moved) {
    super();
    this.ball = new Mesh(new SphereGeometry(0.007, 24, 16), new MeshBasicMaterial({ color: "#7c3aed" }));
    this.add(this.ball);
    this.gizmo = new TransformControls(stage.camera, stage.canvas);
    this.gizmo.setSize(0.65);
    this.gizmo.attach(this);
    this.gizmo.addEventListener("dragging-changed", ({ value }) => {
      stage.controls.enabled = !value;
    });
    this.gizmo.addEventListener("objectChange", () => moved(this.place));
    this.gizmo.addEventListener("change", () => stage.draw());
    this.helper = this.gizmo.getHelper();
    stage.scene.add(this, this.helper);
    this.show_(false);
  }

  get place() {
    return this.position.toArray();
  }

  get dragged() {
    return this.gizmo.dragging;
  }

  /** @param {number[]} tip */
  put(tip) {
    this.position.copy(new Vector3(tip[0], tip[1], tip[2]));
  }

  /** @param {boolean} seen */
  show_(seen) {
    this.visible = this.helper.visible = this.gizmo.enabled = seen;
  }
}
