"use strict";
// Charts of a page: curves with legend, zoom, logarithmic axes, and a slider where they change in time.
// Every word goes into the page as text, never as markup.
(() => {
  const SVG = document.querySelector("svg").namespaceURI;
  const W = 460, H = 270, LEFT = 56, RIGHT = 12, TOP = 8, BOTTOM = 36;
  const DARK = window.matchMedia("(prefers-color-scheme: dark)").matches;
  const COLOURS = DARK
    ? ["#56b4e9", "#ff8c42", "#2fc49a", "#e29ac4", "#8fa8ff", "#f0c000", "#a8a8a8", "#d2936b"]
    : ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#7f7f7f", "#a0522d"];

  const make = (tag, attributes = {}, text = null) => {
    const node = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
    if (text !== null) node.textContent = text;
    return node;
  };
  const draw = (parent, tag, attributes, text = null) => {
    const node = document.createElementNS(SVG, tag);
    for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
    if (text !== null) node.textContent = text;
    parent.append(node);
    return node;
  };
  const shown = (value) => {
    if (value === null || value === undefined || !isFinite(value)) return "–";
    const size = Math.abs(value);
    if (size !== 0 && (size >= 1e5 || size < 1e-3)) return value.toExponential(3).replace(/\.?0+e/, "e");
    return String(Number(value.toPrecision(5)));
  };

  // ---- axes ------------------------------------------------------------------------------------------------------

  const linearTicks = (low, high, most) => {
    const raw = (high - low) / most, power = 10 ** Math.floor(Math.log10(raw));
    const step = power * [1, 2, 5, 10].find((n) => n * power >= raw * 0.999);
    const ticks = [];
    for (let i = Math.ceil(low / step - 1e-9); i * step <= high + 1e-9 * step; i++) ticks.push(i * step);
    return ticks.map((t) => Number(t.toPrecision(12)));
  };
  const logTicks = (low, high, most) => {
    const first = Math.ceil(Math.log10(low) - 1e-9), last = Math.floor(Math.log10(high) + 1e-9);
    const ticks = [];
    if (last - first >= 1) {
      const every = Math.ceil((last - first + 1) / most);
      for (let e = first; e <= last; e += every) ticks.push(10 ** e);
      return ticks.map((t) => Number(t.toPrecision(3)));
    }
    for (let e = first - 1; e <= last + 1; e++) {
      for (const n of [1, 2, 5]) if (n * 10 ** e >= low && n * 10 ** e <= high) ticks.push(n * 10 ** e);
    }
    return ticks.length ? ticks.map((t) => Number(t.toPrecision(3))) : [low, high];
  };
  const scale = (low, high, log, from, to) => {
    const f = log ? Math.log10 : (v) => v;
    const a = f(low), b = f(high) === f(low) ? f(low) + 1 : f(high);
    return {
      to: (v) => from + ((f(v) - a) / (b - a)) * (to - from),
      back: (p) => { const v = a + ((p - from) / (to - from)) * (b - a); return log ? 10 ** v : v; },
    };
  };

  // ---- one chart -------------------------------------------------------------------------------------------------

  class Chart {
    constructor(holder, spec) {
      Object.assign(this, { holder, spec, hidden: new Set(), zoom: null, frame: spec.t ? spec.t.length - 1 : 0 });
      this.log = { x: Boolean(spec.xlog), y: Boolean(spec.ylog) };
      holder.append(make("h3", {}, spec.title));
      this.svg = draw(holder, "svg", { viewBox: `0 0 ${W} ${H}`, role: "img" });
      this.svg.setAttribute("aria-label", spec.title);
      this.legend = holder.appendChild(make("div", { class: "legend" }));
      this.tools = holder.appendChild(make("div", { class: "tools" }));
      this.addLegend();
      this.addTools();
      this.listen();
      this.render();
    }

    values(curve) { return this.spec.t ? curve.y[this.frame] : curve.y; }
    abscissa(curve) { return curve.x || this.spec.x; }
    visible() { return this.spec.curves.filter((_, i) => !this.hidden.has(this.owner(i))); }
    // a quiet curve has no entry in the legend, and goes with the one before it that has
    owner(i) { while (i > 0 && this.spec.curves[i].quiet) i--; return i; }
    colour(curve) { return COLOURS[(curve.colour ?? this.spec.curves.indexOf(curve)) % COLOURS.length]; }

    addLegend() {
      if (this.spec.curves.filter((curve) => !curve.quiet).length < 2) return;
      this.spec.curves.forEach((curve, i) => {
        if (curve.quiet) return;
        const button = make("button", { type: "button", title: "show or hide" });
        const swatch = make("span", { class: "swatch" });
        swatch.style.borderTopColor = this.colour(curve);
        swatch.style.borderTopStyle = ["solid", "dotted", "dashed", "double"][Number(curve.dash || 0) % 4];
        button.append(swatch, curve.name);
        button.addEventListener("click", () => {
          if (!this.hidden.delete(i)) this.hidden.add(i);
          button.classList.toggle("off", this.hidden.has(i));
          this.render();
        });
        this.legend.append(button);
      });
    }

    addTools() {
      if (this.spec.t && this.spec.t.length > 1) {
        const slider = make("input", { type: "range", min: 0, max: this.spec.t.length - 1, value: this.frame });
        slider.setAttribute("aria-label", `time of ${this.spec.title}`);
        const time = make("span");
        const tell = () => { time.textContent = `t = ${shown(this.spec.t[this.frame])}`; };
        slider.addEventListener("input", () => { this.frame = Number(slider.value); tell(); this.render(); });
        tell();
        this.tools.append(time, slider);
      } else if (this.spec.t) {
        this.tools.append(make("span", {}, `t = ${shown(this.spec.t[0])}`));
      }
      for (const axis of ["x", "y"]) {
        const button = make("button", { type: "button", title: "linear or logarithmic axis" });
        const tell = () => { button.textContent = `${axis}: ${this.log[axis] ? "log" : "linear"}`; };
        button.addEventListener("click", () => {
          this.log[axis] = !this.log[axis];
          this.zoom = null;
          tell();
          this.render();
        });
        tell();
        this.tools.append(button);
      }
      this.readout = this.tools.appendChild(make("span", { class: "readout" }));
    }

    // limits of all curves, over all times: nothing jumps when the slider moves
    limits() {
      if (this.zoom) return this.zoom;
      const found = [Infinity, -Infinity, Infinity, -Infinity];
      const take = (x, y) => {
        if (y === null || x === null || (this.log.x && x <= 0) || (this.log.y && y <= 0)) return;
        found[0] = Math.min(found[0], x); found[1] = Math.max(found[1], x);
        found[2] = Math.min(found[2], y); found[3] = Math.max(found[3], y);
      };
      for (const curve of this.visible()) {
        const x = this.abscissa(curve);
        for (const y of this.spec.t ? curve.y : [curve.y]) y.forEach((value, i) => take(x[i], value));
      }
      let [x0, x1, y0, y1] = found;
      if (!isFinite(x0)) return null;
      if (x0 === x1) [x0, x1] = this.log.x ? [x0 / 2, x1 * 2] : [x0 - 0.5, x1 + 0.5];
      if (this.log.y) {
        y0 = Math.max(y0, y1 * (this.spec.deep || 1e-20)) / 1.5;
        y1 *= 1.5;
      } else {
        const room = 0.05 * (y1 - y0) || 0.5 * Math.abs(y0) || 0.5;
        [y0, y1] = [y0 - room, y1 + room];
      }
      return [x0, x1, y0, y1];
    }

    render() {
      this.svg.replaceChildren();
      this.at = this.limits();
      if (!this.at) {
        draw(this.svg, "text", { x: W / 2, y: H / 2, "text-anchor": "middle" }, "nothing to draw on these axes");
        return;
      }
      const [x0, x1, y0, y1] = this.at;
      this.x = scale(x0, x1, this.log.x, LEFT, W - RIGHT);
      this.y = scale(y0, y1, this.log.y, H - BOTTOM, TOP);
      this.drawAxes(x0, x1, y0, y1);
      const inside = draw(this.svg, "svg", {
        x: LEFT, y: TOP, width: W - LEFT - RIGHT, height: H - TOP - BOTTOM,
        viewBox: `${LEFT} ${TOP} ${W - LEFT - RIGHT} ${H - TOP - BOTTOM}`,
      });
      for (const mark of this.spec.marks || []) this.drawMark(inside, mark);
      for (const curve of this.visible()) this.drawCurve(inside, curve);
      this.overlay = draw(this.svg, "g", {});
    }

    drawAxes(x0, x1, y0, y1) {
      for (const t of (this.log.x ? logTicks : linearTicks)(x0, x1, 6)) {
        const p = this.x.to(t);
        draw(this.svg, "line", { class: "grid", x1: p, x2: p, y1: TOP, y2: H - BOTTOM });
        draw(this.svg, "text", { x: p, y: H - BOTTOM + 14, "text-anchor": "middle" }, shown(t));
      }
      for (const t of (this.log.y ? logTicks : linearTicks)(y0, y1, 5)) {
        const p = this.y.to(t);
        draw(this.svg, "line", { class: "grid", x1: LEFT, x2: W - RIGHT, y1: p, y2: p });
        draw(this.svg, "text", { x: LEFT - 5, y: p + 4, "text-anchor": "end" }, shown(t));
      }
      draw(this.svg, "rect", { class: "frame", x: LEFT, y: TOP, width: W - LEFT - RIGHT, height: H - TOP - BOTTOM });
      draw(this.svg, "text", { x: (W + LEFT - RIGHT) / 2, y: H - 6, "text-anchor": "middle" }, this.spec.xlabel || "");
    }

    drawMark(inside, mark) {
      const p = this.x.to(mark.x);
      draw(inside, "line", { class: "mark", x1: p, x2: p, y1: TOP, y2: H - BOTTOM });
      draw(inside, "text", { x: p - 4, y: TOP + 12, "text-anchor": "end" }, mark.name);
    }

    drawCurve(inside, curve) {
      const x = this.abscissa(curve), y = this.values(curve);
      let path = "", pen = "M";
      for (let i = 0; i < y.length; i++) {
        const fine = y[i] !== null && !(this.log.y && y[i] <= 0) && !(this.log.x && x[i] <= 0);
        if (this.spec.points) pen = "h0M";
        if (fine) path += `${path ? pen : "M"}${this.x.to(x[i]).toFixed(2)} ${this.y.to(y[i]).toFixed(2)}`;
        pen = fine ? "L" : "M";
      }
      if (this.spec.points && path) path += "h0";
      const style = { class: this.spec.points ? "curve points" : "curve", d: path, stroke: this.colour(curve) };
      const dashes = [null, "4 4", "10 4", "2 6"][Number(curve.dash || 0) % 4];
      if (dashes) style["stroke-dasharray"] = dashes;
      draw(inside, "path", style);
    }

    // ---- pointer: read values, drag to zoom, double click for everything ------------------------------------------

    place(event) {
      const box = this.svg.getBoundingClientRect();
      return [((event.clientX - box.left) * W) / box.width, ((event.clientY - box.top) * H) / box.height];
    }

    listen() {
      let start = null;
      this.svg.addEventListener("pointerdown", (event) => { start = this.place(event); });
      this.svg.addEventListener("pointermove", (event) => {
        if (!this.at) return;
        const here = this.place(event);
        this.overlay.replaceChildren();
        if (start) this.drawBrush(start, here);
        else this.read(here);
      });
      this.svg.addEventListener("pointerup", (event) => {
        const end = this.place(event);
        if (start && this.at && Math.abs(end[0] - start[0]) > 6 && Math.abs(end[1] - start[1]) > 6) {
          const xs = [start[0], end[0]].map(this.x.back).sort((a, b) => a - b);
          const ys = [start[1], end[1]].map(this.y.back).sort((a, b) => a - b);
          this.zoom = [...xs, ...ys];
          this.render();
        }
        start = null;
      });
      this.svg.addEventListener("pointerleave", () => {
        start = null;
        this.readout.textContent = "";
        if (this.overlay) this.overlay.replaceChildren();
      });
      this.svg.addEventListener("dblclick", () => { this.zoom = null; this.render(); });
    }

    drawBrush(a, b) {
      const corner = { x: Math.min(a[0], b[0]), y: Math.min(a[1], b[1]) };
      draw(this.overlay, "rect", {
        class: "brush", ...corner, width: Math.abs(a[0] - b[0]), height: Math.abs(a[1] - b[1]),
      });
    }

    read(here) {
      if (here[0] < LEFT || here[0] > W - RIGHT) return;
      draw(this.overlay, "line", { class: "cross", x1: here[0], x2: here[0], y1: TOP, y2: H - BOTTOM });
      const told = this.visible().filter((curve) => !curve.quiet).map((curve) => {
        const x = this.abscissa(curve), y = this.values(curve);
        let best = 0;
        x.forEach((value, i) => {
          if (Math.abs(this.x.to(value) - here[0]) < Math.abs(this.x.to(x[best]) - here[0])) best = i;
        });
        return [x[best], y[best], curve.name];
      });
      if (!told.length) return;
      const many = told.length > 1;
      this.readout.textContent =
        `${shown(told[0][0])} → ` + told.slice(0, 4).map(([, y, name]) => (many ? `${name} ` : "") + shown(y)).join(", ");
    }
  }

  const specs = JSON.parse(document.getElementById("data").textContent);
  for (const holder of document.querySelectorAll("[data-chart]")) {
    new Chart(holder, specs[Number(holder.getAttribute("data-chart"))]);
  }
})();
