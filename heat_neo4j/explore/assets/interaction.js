// Pointer, wheel, touch and keys.

const FARTHEST_GRAB = 0.985; // beyond, a pixel is so far that the point could not be held
const CLICK_REACH = 5; // pixels that a click may wander

function held([x, y]) {
  const size = Math.hypot(x, y);
  return size > FARTHEST_GRAB ? [x * FARTHEST_GRAB / size, y * FARTHEST_GRAB / size] : [x, y];
}

function makeInteraction(canvas, scene, act) {
  const pointers = new Map(); // fingers or the mouse that are down: id -> place
  let grab = null; // what is being dragged: the pointer's first place, and the view then
  let pinch = null;

  const placeOf = (event) => [event.clientX, event.clientY];

  function begin() {
    const places = [...pointers.values()];
    grab = pinch = null;
    if (places.length === 1) {
      const at = scene.toDisk(places[0]);
      grab = { from: places[0], at: held(at), inside: Math.hypot(...at) < 1, view: scene.view, moved: false };
    } else if (places.length === 2) {
      pinch = { apart: Math.hypot(places[0][0] - places[1][0], places[0][1] - places[1][1]) };
    }
  }

  canvas.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    canvas.focus({ preventScroll: true });
    canvas.classList.add("pointed"); // no focus ring for those who need none
    canvas.setPointerCapture(event.pointerId);
    pointers.set(event.pointerId, placeOf(event));
    begin();
  });
  canvas.addEventListener("pointermove", (event) => {
    const place = placeOf(event);
    if (!pointers.has(event.pointerId)) {
      if (event.pointerType === "mouse") act.point(place);
      return;
    }
    pointers.set(event.pointerId, place);
    if (pinch) {
      const [p, q] = [...pointers.values()], apart = Math.hypot(p[0] - q[0], p[1] - q[1]);
      act.zoom(apart / pinch.apart, [(p[0] + q[0]) / 2, (p[1] + q[1]) / 2]);
      pinch.apart = apart;
    } else if (grab) {
      if (!grab.moved && Math.hypot(place[0] - grab.from[0], place[1] - grab.from[1]) < CLICK_REACH) return;
      grab.moved = true;
      canvas.classList.add("walking");
      // From where the drag began, not from the last event: coming back brings the old view back.
      if (grab.inside) act.walk(composed(translation(grab.at, held(scene.toDisk(place))), grab.view));
    }
  });
  function end(event) {
    if (!pointers.delete(event.pointerId)) return;
    canvas.classList.remove("walking");
    if (event.type === "pointerup" && grab && !grab.moved) act.click(placeOf(event), event.pointerType === "mouse" ? 6 : 18);
    if (grab?.moved) act.rest();
    begin();
    if (grab) grab.moved = true; // the finger that is left of two does not click
  }
  canvas.addEventListener("pointerup", end);
  canvas.addEventListener("pointercancel", end);
  canvas.addEventListener("pointerleave", () => act.point(null));
  canvas.addEventListener("wheel", (event) => {
    event.preventDefault();
    const pixels = event.deltaY * (event.deltaMode === 1 ? 16 : event.deltaMode === 2 ? 400 : 1);
    act.zoom(Math.exp(-Math.max(-240, Math.min(240, pixels)) * 0.0022), placeOf(event));
  }, { passive: false });

  const STEPS = { ArrowLeft: [1, 0], ArrowRight: [-1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
  addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    canvas.classList.remove("pointed");
    const inField = event.target instanceof HTMLInputElement || event.target instanceof HTMLSelectElement;
    const onButton = event.target instanceof HTMLButtonElement;
    if (inField || (onButton && (event.key === "Enter" || event.key === " "))) return;
    const middle = [scene.width / 2, scene.height / 2];
    if (STEPS[event.key]) act.step(STEPS[event.key]);
    else if (event.key === "Enter") act.selectMiddle();
    else if (event.key === "/") document.getElementById("search").focus();
    else if (event.key === "Escape") act.escape();
    else if (event.key === "+" || event.key === "=") act.zoom(1.25, middle);
    else if (event.key === "-") act.zoom(0.8, middle);
    else if (event.key === "0") act.reset();
    else if (event.key === "?") act.show("keys");
    else return;
    event.preventDefault();
  });
  return { get busy() { return pointers.size > 0; } };
}
