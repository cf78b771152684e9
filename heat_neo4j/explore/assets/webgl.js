// Draws edges and nodes with WebGL 2 (through twgl), where there is a graphics processor.

const MOST_COLOURS = 65; // of nodes: the shades of a scale, and grey

const ARC_SHADER = `#version 300 es
in vec2 along;   // share of the way, and side of the line
in vec4 ends;    // both ends in pixels
in vec4 bend;    // the middle control point in pixels, its weight, and by what share the width at the source is more
in vec4 colour;
uniform vec2 window;
uniform float thickness;
out float across;
out float run;
out float wide;
out vec4 paint;
void main() {
  float t = along.x, u = 1.0 - t, w = bend.z;
  vec2 sum = u * u * ends.xy + 2.0 * u * t * w * bend.xy + t * t * ends.zw;
  float under = u * u + 2.0 * u * t * w + t * t;
  vec2 sumRise = 2.0 * (-u * ends.xy + (u - t) * w * bend.xy + t * ends.zw);
  float underRise = 2.0 * (-u + (u - t) * w + t);
  vec2 direction = sumRise * under - sum * underRise;
  vec2 normal = vec2(-direction.y, direction.x) / max(length(direction), 1e-6);
  wide = 0.5 * thickness * (1.0 + bend.w * (1.0 - 2.0 * t));
  float reach = wide + 0.7; // room for the soft rim
  vec2 place = sum / under + along.y * reach * normal;
  across = along.y * reach;
  run = t * distance(ends.xy, ends.zw);
  paint = colour;
  gl_Position = vec4((place / window * 2.0 - 1.0) * vec2(1.0, -1.0), 0.0, 1.0);
}`;
const ARC_PAINT = `#version 300 es
precision highp float;
in float across;
in float run;
in float wide;
in vec4 paint;
uniform float dash;
out vec4 result;
void main() {
  float cover = clamp(wide + 0.5 - abs(across), 0.0, 1.0);
  if (dash > 0.0) cover *= clamp(0.5 + 1.5 * (abs(mod(run, 2.0 * dash) - dash) - 0.45 * dash), 0.0, 1.0);
  float alpha = paint.a * cover;
  result = vec4(paint.rgb * alpha, alpha);
}`;
const NODE_SHADER = `#version 300 es
in vec3 place;   // in pixels, and the radius
in float group;
uniform vec2 window;
uniform float density;
uniform vec4 palette[${MOST_COLOURS}];
out vec4 paint;
out float radius;
void main() {
  paint = palette[int(group)];
  radius = place.z * density;
  gl_PointSize = 2.0 * (radius + 1.0);
  gl_Position = place.z > 0.0
    ? vec4((place.xy / window * 2.0 - 1.0) * vec2(1.0, -1.0), 0.0, 1.0) : vec4(2.0, 2.0, 0.0, 1.0);
}`;
const NODE_PAINT = `#version 300 es
precision highp float;
in vec4 paint;
in float radius;
uniform vec4 rim;
out vec4 result;
void main() {
  float from = length(gl_PointCoord - 0.5) * 2.0 * (radius + 1.0);
  float cover = clamp(radius + 0.5 - from, 0.0, 1.0);
  float edge = radius > 3.0 ? clamp(from - radius + 1.6, 0.0, 1.0) : 0.0;
  vec3 colour = mix(paint.rgb, rim.rgb, 0.8 * edge);
  float alpha = cover * paint.a;
  result = vec4(colour * alpha, alpha);
}`;

const CURVED = 14; // pieces of an arc that is drawn bent
const ROOM = 8192; // arcs in one draw call

// A strip of triangles along an arc of so many straight pieces.
function strip(pieces) {
  return Float32Array.from({ length: 4 * (pieces + 1) }, (_, k) => (k % 2 === 0 ? (k >> 2) / pieces : k & 2 ? 1 : -1));
}

// Arcs on their way to the screen.
function makeBatch(gl, pieces) {
  const batch = {
    ends: new Float32Array(4 * ROOM), bend: new Float32Array(4 * ROOM), colour: new Uint8Array(4 * ROOM), count: 0,
    vertices: 2 * (pieces + 1),
  };
  const often = { divisor: 1, drawType: gl.DYNAMIC_DRAW };
  batch.info = twgl.createBufferInfoFromArrays(gl, {
    along: { numComponents: 2, data: strip(pieces) },
    ends: { numComponents: 4, data: batch.ends, ...often },
    bend: { numComponents: 4, data: batch.bend, ...often },
    colour: { numComponents: 4, data: batch.colour, normalize: true, ...often },
  });
  batch.send = () => {
    for (const name of ["ends", "bend", "colour"]) {
      const { buffer, numComponents } = batch.info.attribs[name];
      gl.bindBuffer(gl.ARRAY_BUFFER, buffer);
      gl.bufferSubData(gl.ARRAY_BUFFER, 0, batch[name], 0, numComponents * batch.count);
    }
  };
  return batch;
}

// Whether WebGL 2 is there and is not imitated by the processor.
function hasGraphicsProcessor() {
  const probe = document.createElement("canvas").getContext("webgl2", { failIfMajorPerformanceCaveat: true });
  if (!probe) return false;
  const info = probe.getExtension("WEBGL_debug_renderer_info");
  const name = probe.getParameter(info ? info.UNMASKED_RENDERER_WEBGL : probe.RENDERER);
  probe.getExtension("WEBGL_lose_context")?.loseContext();
  return !/swiftshader|llvmpipe|softpipe|software|basic render/i.test(name);
}

function makeWebglPainter(canvas, scene) {
  const gl = canvas.getContext("webgl2", { antialias: false, premultipliedAlpha: true });
  if (!gl) return null;
  const { data } = scene;
  const arcs = twgl.createProgramInfo(gl, [ARC_SHADER, ARC_PAINT]);
  const nodes = twgl.createProgramInfo(gl, [NODE_SHADER, NODE_PAINT]);
  const straight = makeBatch(gl, 1), curved = makeBatch(gl, CURVED);
  const places = new Float32Array(3 * data.count);
  const nodeInfo = twgl.createBufferInfoFromArrays(gl, {
    place: { numComponents: 3, data: places, drawType: gl.DYNAMIC_DRAW },
    group: { numComponents: 1, data: Float32Array.from(scene.order, (i) => data.group[i]) },
  });
  const layers = [{ format: gl.RGBA8, samples: 0 }]; // nothing samples it, so it need not be a texture
  const picture = twgl.createFramebufferInfo(gl, layers, 1, 1);
  let density = 1, colours = null;

  const painter = { kind: "webgl" };

  painter.resize = (ratio) => {
    density = ratio;
    canvas.width = Math.round(scene.width * density);
    canvas.height = Math.round(scene.height * density);
    twgl.resizeFramebufferInfo(gl, picture, layers, canvas.width, canvas.height);
  };
  // Colours as { palette: [[r, g, b], ...] one for each group, edges, links, marks, disk }, 0 to 255.
  painter.recolour = (chosen) => {
    colours = chosen;
    twgl.setAttribInfoBufferFromArray(gl, nodeInfo.attribs.group, Float32Array.from(scene.order, (i) => data.group[i]));
  };

  function flush(batch, thickness, dash) {
    if (!batch.count) return;
    gl.useProgram(arcs.program);
    batch.send();
    twgl.setBuffersAndAttributes(gl, arcs, batch.info);
    twgl.setUniforms(arcs, { window: [scene.width, scene.height], thickness: Math.max(thickness, 1 / density), dash });
    twgl.drawBufferInfo(gl, batch.info, gl.TRIANGLE_STRIP, batch.vertices, 0, batch.count);
    batch.count = 0;
  }

  function addArc({ a, b, narrows }, [red, green, blue], alpha, thickness, dash) {
    const arc = scene.arc(a, b);
    if (!arc) return;
    const batch = arc.straight ? straight : curved, at = batch.count++;
    batch.ends[4 * at] = scene.x[a]; batch.ends[4 * at + 1] = scene.y[a];
    batch.ends[4 * at + 2] = scene.x[b]; batch.ends[4 * at + 3] = scene.y[b];
    batch.bend[4 * at] = arc.x; batch.bend[4 * at + 1] = arc.y;
    batch.bend[4 * at + 2] = arc.weight; batch.bend[4 * at + 3] = narrows ? TAPER : 0;
    batch.colour[4 * at] = red; batch.colour[4 * at + 1] = green; batch.colour[4 * at + 2] = blue;
    batch.colour[4 * at + 3] = 255 * alpha;
    if (batch.count === ROOM) flush(batch, thickness, dash);
  }

  function drawArcs(add, thickness, dash = 0) {
    gl.enable(gl.BLEND);
    gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
    add((line, colour, alpha) => addArc(line, colour, alpha, thickness, dash));
    flush(straight, thickness, dash);
    flush(curved, thickness, dash);
  }

  // Edges `chosen[from .. to]` into their picture; from 0 on, a new one.
  const line = { a: 0, b: 0, narrows: 0 };
  painter.edges = (chosen, from, to) => {
    twgl.bindFramebufferInfo(gl, picture);
    if (from === 0) { gl.clearColor(0, 0, 0, 0); gl.clear(gl.COLOR_BUFFER_BIT); }
    drawArcs((add) => {
      for (let k = from; k < to; k++) {
        const e = chosen[k];
        line.a = data.edges.source[e]; line.b = data.edges.target[e]; line.narrows = data.edges.narrows[e];
        add(line, colours.edges[scene.edgeInk(e)], scene.edgeAlpha(e));
      }
    }, EDGE_WIDTH);
  };

  // The screen: the picture of edges, predicted links, what belongs to the selection, and nodes.
  painter.screen = (dashed, marked) => {
    twgl.bindFramebufferInfo(gl, null);
    // Without this clear, the browser's own would come after the blit, before the first thing that is drawn.
    gl.clearColor(0, 0, 0, 0);
    gl.clear(gl.COLOR_BUFFER_BIT);
    gl.bindFramebuffer(gl.READ_FRAMEBUFFER, picture.framebuffer);
    gl.blitFramebuffer(0, 0, canvas.width, canvas.height, 0, 0, canvas.width, canvas.height, gl.COLOR_BUFFER_BIT, gl.NEAREST);
    gl.bindFramebuffer(gl.READ_FRAMEBUFFER, null);
    drawArcs((add) => { for (const line of dashed) add(line, colours.links[line.type], line.alpha); }, LINK.width, LINK.dash);
    drawArcs((add) => { for (const line of marked.edges) add(line, colours.marks[line.type], marked.alpha); }, MARKED.width);
    drawArcs((add) => { for (const line of marked.links) add(line, colours.links[line.type], 0.95); }, MARKED.width, LINK.dash);
    const { order, x, y, size } = scene;
    for (let k = 0; k < order.length; k++) {
      const i = order[k];
      places[3 * k] = x[i]; places[3 * k + 1] = y[i]; places[3 * k + 2] = size[i];
    }
    gl.useProgram(nodes.program);
    twgl.setAttribInfoBufferFromArray(gl, nodeInfo.attribs.place, places);
    twgl.setBuffersAndAttributes(gl, nodes, nodeInfo);
    const palette = new Float32Array(4 * MOST_COLOURS);
    colours.palette.forEach((colour, k) => palette.set([...colour.map((c) => c / 255), 0.94], 4 * k));
    twgl.setUniforms(nodes, {
      window: [scene.width, scene.height], density, palette, rim: [...colours.disk.map((c) => c / 255), 1],
    });
    twgl.drawBufferInfo(gl, nodeInfo, gl.POINTS);
  };
  return painter;
}
