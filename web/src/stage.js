// The stage: camera, light, floor and what stands on it; drawn when something has changed, and not otherwise.
import {
  Box3, Color, DirectionalLight, GridHelper, Group, HemisphereLight, PerspectiveCamera, Quaternion, Scene, Vector3, WebGLRenderer,
} from "three";
import { OrbitControls } from "three/addons/controls/OrbitControls.js";

const FROM = new Vector3(0.62, -0.95, 0.5);
const SLOW_MS = 45;
const RESTS_MS = 250;

export class Stage {
  #dirty = false;
  #slow = 0;
  #grid = new Group();
  #sharper = 0;

  /** @param {HTMLCanvasElement} canvas */
  constructor(canvas) {
    this.canvas = canvas;
    this.axes = document.getElementById("axes");
    const slow = (this.slow = drawnBySoftware());
    this.renderer = new WebGLRenderer({ canvas, antialias: !slow, alpha: true, stencil: true, powerPreference: "low-power" });
    this.renderer.setPixelRatio(slow ? 1 : Math.min(devicePixelRatio, 2));
    this.scene = new Scene();
    this.camera = new PerspectiveCamera(38, 1, 0.01, 30);
    this.camera.up.set(0, 0, 1);
    this.controls = new OrbitControls(this.camera, canvas);
    this.controls.enableDamping = false;
    this.controls.listenToKeyEvents(canvas);
    this.controls.addEventListener("change", () => this.draw());
    const sun = new DirectionalLight("#ffffff", 1.7);
    sun.position.set(0.6, -0.9, 1.6);
    const fill = new DirectionalLight("#cfe0ff", 0.6);
    fill.position.set(-0.8, 0.9, 0.5);
    this.scene.add(sun, fill, new HemisphereLight("#ffffff", "#8a8f98", 1.35), this.#grid);
    this.frames = 0;
    this.look(new Box3(new Vector3(-0.1, -0.2, 0), new Vector3(0.35, 0.2, 0.4)));
    new ResizeObserver(() => this.#fit()).observe(canvas.parentElement ?? canvas);
    this.#fit();
    this.theme();
  }

  /** Have the camera see all of that, from a direction. @param {Box3} box @param {Vector3} from */
  look(box, from = FROM) {
    const centre = box.getCenter(new Vector3());
    const radius = Math.max(box.getSize(new Vector3()).length() / 2, 0.05);
    this.controls.target.copy(centre);
    this.camera.position.copy(from).normalize().multiplyScalar(radius / Math.sin((this.camera.fov * Math.PI) / 330)).add(centre);
    this.controls.update();
    this.draw();
  }

  /** Draw soon. */
  draw() {
    if (this.#dirty) return;
    this.#dirty = true;
    requestAnimationFrame(() => {
      this.#dirty = false;
      const begin = performance.now();
      if (this.slow) this.#rest();
      this.renderer.render(this.scene, this.camera);
      this.#axes();
      this.frames += 1;
      this.#spare(performance.now() - begin);
    });
  }

  /** Without a graphics card edges are smooth once nothing moves: drawn once with twice the pixels. */
  #rest() {
    clearTimeout(this.#sharper);
    if (this.#scale !== 1) this.#pixels(1);
    this.#sharper = window.setTimeout(() => {
      this.#pixels(2);
      this.renderer.render(this.scene, this.camera);
    }, RESTS_MS);
  }

  #scale = 1;

  /** @param {number} scale of what is drawn */
  #pixels(scale) {
    const { clientWidth: width, clientHeight: height } = this.canvas.parentElement ?? this.canvas;
    this.#scale = scale;
    this.renderer.setSize(scale * width, scale * height, false);
  }

  /** Draw the base frame's axes, as the camera sees them. */
  #axes() {
    const seen = new Quaternion().copy(this.camera.quaternion).invert();
    const lines = ["x", "y", "z"].map((name, k) => {
      const { x, y } = new Vector3().setComponent(k, 1).applyQuaternion(seen);
      return `<line class="${name}" x2="${(24 * x).toFixed(1)}" y2="${(-24 * y).toFixed(1)}"/><text x="${(31 * x).toFixed(1)}" y="${(-31 * y).toFixed(1)}">${name}</text>`;
    });
    if (this.axes) this.axes.innerHTML = lines.join("");
  }

  /** Colours as the page has them now. */
  theme() {
    const style = getComputedStyle(document.documentElement);
    const line = style.getPropertyValue("--grid").trim() || "#888";
    this.#grid.clear();
    const grid = new GridHelper(2, 40, new Color(line), new Color(line));
    grid.rotation.x = Math.PI / 2;
    grid.material.transparent = true;
    grid.material.opacity = 0.35;
    grid.position.z = -0.001;
    this.#grid.add(grid);
    this.draw();
  }

  /** Fewer pixels where drawing them takes long: without a graphics card. @param {number} took_ms */
  #spare(took_ms) {
    this.#slow = took_ms > SLOW_MS ? this.#slow + 1 : 0;
    const ratio = this.renderer.getPixelRatio();
    if (this.#slow >= 5 && ratio > 0.75) {
      this.#slow = 0;
      this.renderer.setPixelRatio(ratio > 1 ? 1 : 0.75);
      this.#fit();
    }
  }

  #fit() {
    const frame = this.canvas.parentElement ?? this.canvas;
    const { clientWidth: width, clientHeight: height } = frame;
    if (!width || !height) return;
    this.renderer.setSize(width, height, false);
    this.camera.aspect = width / height;
    this.camera.updateProjectionMatrix();
    this.draw();
  }
}

/** Whether there is no graphics card: smooth edges would cost four times the work. */
function drawnBySoftware() {
  const gl = document.createElement("canvas").getContext("webgl2");
  if (!gl) return true;
  const about = gl.getExtension("WEBGL_debug_renderer_info");
  const name = String(gl.getParameter(about ? about.UNMASKED_RENDERER_WEBGL : gl.RENDERER));
  gl.getExtension("WEBGL_lose_context")?.loseContext();
  return /swiftshader|llvmpipe|software/i.test(name);
}
