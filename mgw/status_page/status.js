// The status page. All that comes from the gateway is put into the page as text, never as markup:
// call ids, codecs and addresses are what strangers wrote.
"use strict";

const PERIOD_MS = 2000;
const PAGE_CALLS = 25;
const SVG = "http://www.w3.org/2000/svg";

const COLUMNS = [
  { key: "endpoint", title: "Endpoint", sort: "endpoint" },
  { key: "call_id", title: "Call", sort: "call_id" },
  { key: "codecs", title: "Codecs" },
  { key: "age_s", title: "Age", sort: "age", number: true },
  { key: "packets", title: "Packets", sort: "packets", number: true },
  { key: "loss", title: "Loss", sort: "loss", number: true },
  { key: "jitter_ms", title: "Jitter", sort: "jitter", number: true },
  { key: "round_trip_ms", title: "Round trip", sort: "round_trip", number: true },
  { key: "mos", title: "MOS", sort: "mos", number: true },
  { key: "drops", title: "Dropped", sort: "drops", number: true },
];
// The worst, the longest and the most come first when a column is chosen.
const ASCENDING_FIRST = new Set(["endpoint", "call_id", "mos"]);

const CHARTS = [
  { title: "Packets received", value: (p) => p.packets_in_per_s, text: (v) => perSecond(v) },
  { title: "Loss", value: (p) => p.loss * 100, text: (v) => `${fixed(v, 2)} %`, least: 1 },
  { title: "Jitter, mean", value: (p) => p.jitter_ms, text: (v) => `${fixed(v, 1)} ms`, least: 5 },
  { title: "CPU per packet", value: (p) => micros(p.cpu_ns_per_packet),
    text: (v) => (v === null ? "–" : `${fixed(v, 1)} µs`), least: 5 },
];

const view = { sort: "endpoint", order: "asc", filter: "", offset: 0, call: null };
let asking = 0;

const at = (id) => document.getElementById(id);
const fixed = (value, digits) => (value === null || value === undefined ? "–"
  : value.toLocaleString("en", { minimumFractionDigits: digits, maximumFractionDigits: digits }));
const micros = (ns) => (ns === null || ns === undefined ? null : ns / 1000);
const whole = (value) => fixed(value, 0);
const percent = (fraction) => `${fixed(fraction * 100, 2)} %`;
const ms = (value) => (value === null || value === undefined ? "–" : `${fixed(value, 1)} ms`);

function perSecond(value) {
  return value >= 1e6 ? `${fixed(value / 1e6, 2)} M/s` : `${whole(value)} /s`;
}

function duration(seconds) {
  if (seconds === null || seconds === undefined) {
    return "–";
  }
  const s = Math.floor(seconds);
  const two = (n) => String(n).padStart(2, "0");
  const clock = `${Math.floor((s % 86400) / 3600)}:${two(Math.floor((s % 3600) / 60))}:${two(s % 60)}`;
  return s >= 86400 ? `${Math.floor(s / 86400)} d ${clock}` : clock;
}

function quality(mos) {
  if (mos === null || mos === undefined) {
    return "unknown";
  }
  return mos >= 4 ? "good" : mos >= 3.6 ? "fair" : mos >= 3.1 ? "poor" : "bad";
}

function element(name, properties = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(properties)) {
    if (key === "text") {
      made.textContent = value;
    } else if (key === "class") {
      made.className = value;
    } else {
      made.setAttribute(key, value);
    }
  }
  made.append(...children);
  return made;
}

function drawn(name, attributes = {}, text = null) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) {
    made.setAttribute(key, value);
  }
  if (text !== null) {
    made.textContent = text;
  }
  return made;
}

// --- figures and charts

function showFigures(o) {
  const now = o.now;
  const rows = [
    ["Calls", whole(now.calls), `/ ${whole(o.endpoints.total)}`, `${whole(o.connections)} legs`],
    ["Packets in", whole(now.packets_in_per_s), "/s",
      `${fixed(now.octets_in_per_s * 8 / 1e6, 2)} Mbit/s`],
    ["Packets out", whole(now.packets_out_per_s), "/s",
      `${fixed(now.octets_out_per_s * 8 / 1e6, 2)} Mbit/s`],
    ["Loss", fixed(now.loss * 100, 2), "%", "of what peers sent"],
    ["Jitter", fixed(now.jitter_ms, 1), "ms", "mean over legs"],
    ["MOS", fixed(now.mos, 2), "", "estimate, mean", quality(now.mos)],
    ["CPU per packet", fixed(micros(now.cpu_ns_per_packet), 1), "µs",
      `${fixed(now.cpu_cores, 2)} cores`],
    ["Dropped", whole(now.drops_per_s), "/s", `${fixed(now.commands_per_s, 0)} commands/s`],
  ];
  at("figures").replaceChildren(...rows.map(([title, value, unit, note, kind]) => element("div", {},
    element("dt", { text: title }),
    element("dd", { class: kind || "" }, value, element("small", { text: unit })),
    element("dd", { class: "note", text: note }))));
}

function niceTop(value, least) {
  const top = Math.max(value, least || 10);
  const power = 10 ** Math.floor(Math.log10(top));
  return [1, 2, 2.5, 5, 10].map((step) => step * power).find((step) => step >= top);
}

function makeChart(spec) {
  const svg = drawn("svg", { viewBox: "0 0 300 110", preserveAspectRatio: "none", role: "img" });
  const reading = element("b");
  const figure = element("figure", {},
    element("figcaption", {}, element("span", { text: spec.title }), reading), svg);
  return { spec, svg, reading, figure, points: [], top: 1, width: 300 };
}

function drawChart(chart, points) {
  const { spec, svg } = chart;
  const height = 110, left = 0, bottom = 92;
  const width = Math.max(200, svg.clientWidth || 300);
  svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
  const values = points.map((p) => ({ age: p.age_s, value: spec.value(p) }))
    .filter((p) => p.value !== null && Number.isFinite(p.value));
  const top = niceTop(Math.max(0, ...values.map((p) => p.value)), spec.least);
  const x = (age) => left + (width - left) * (1 - Math.min(age, 600) / 600);
  const y = (value) => bottom - (bottom - 14) * Math.min(value / top, 1);
  const parts = [];
  for (const share of [0, 0.5, 1]) {
    parts.push(drawn("line", { class: "grid", x1: left, x2: width, y1: y(top * share), y2: y(top * share) }));
  }
  if (values.length > 1) {
    const line = values.map((p) => `${x(p.age).toFixed(1)},${y(p.value).toFixed(1)}`).join(" L");
    const first = x(values[0].age).toFixed(1), last = x(values[values.length - 1].age).toFixed(1);
    parts.push(drawn("path", { class: "area", d: `M${first},${bottom} L${line} L${last},${bottom}Z` }));
    parts.push(drawn("path", { class: "curve", d: `M${line}` }));
  }
  parts.push(drawn("text", { class: "axis", x: left, y: y(top) - 3 }, spec.text(top)));
  parts.push(drawn("text", { class: "axis", x: left, y: height - 4 }, "−10 min"));
  parts.push(drawn("text", { class: "axis", x: width / 2, y: height - 4, "text-anchor": "middle" }, "−5"));
  parts.push(drawn("text", { class: "axis", x: width, y: height - 4, "text-anchor": "end" }, "now"));
  const mark = drawn("line", { class: "mark", y1: 14, y2: bottom, visibility: "hidden" });
  svg.replaceChildren(...parts, mark);
  const latest = values.length ? values[values.length - 1].value : null;
  const label = latest === null ? "–" : spec.text(latest);
  svg.setAttribute("aria-label", `${spec.title}: now ${label}`);
  Object.assign(chart, { values, x, mark, label, width });
  if (!chart.pointed) {
    chart.reading.textContent = label;
  }
}

function follow(chart) {
  chart.svg.addEventListener("pointermove", (event) => {
    if (!chart.values || chart.values.length === 0) {
      return;
    }
    const box = chart.svg.getBoundingClientRect();
    const wanted = (event.clientX - box.left) / box.width * chart.width;
    const nearest = chart.values.reduce((best, p) =>
      (Math.abs(chart.x(p.age) - wanted) < Math.abs(chart.x(best.age) - wanted) ? p : best));
    chart.pointed = true;
    chart.mark.setAttribute("x1", chart.x(nearest.age));
    chart.mark.setAttribute("x2", chart.x(nearest.age));
    chart.mark.setAttribute("visibility", "visible");
    chart.reading.textContent =
      `${chart.spec.text(nearest.value)}, ${whole(nearest.age)} s ago`;
  });
  chart.svg.addEventListener("pointerleave", () => {
    chart.pointed = false;
    chart.mark.setAttribute("visibility", "hidden");
    chart.reading.textContent = chart.label;
  });
}

// --- the column at the side

function barRow(name, value, share, kind) {
  const svg = drawn("svg", { viewBox: "0 0 100 3", preserveAspectRatio: "none", "aria-hidden": "true" });
  svg.append(drawn("rect", { class: "track", width: 100, height: 3 }),
    drawn("rect", { class: `fill ${kind || ""}`, width: 100 * Math.min(1, share || 0), height: 3 }));
  return element("div", { class: "row" }, element("span", { text: name }),
    element("span", { text: value }), svg);
}

function showSide(o) {
  const legs = Object.values(o.legs_by_quality).reduce((sum, n) => sum + n, 0);
  const titles = { good: "Good, 4.0 and better", fair: "Fair, 3.6", poor: "Poor, 3.1", bad: "Bad",
    unknown: "Not rated" };
  at("quality").replaceChildren(...Object.entries(o.legs_by_quality).map(([kind, count]) =>
    barRow(titles[kind] || kind, whole(count), legs ? count / legs : 0, kind)));
  const drops = o.drops_by_cause.slice(0, 8);
  const most = drops.length ? drops[0].count : 1;
  at("drops").replaceChildren(...(drops.length
    ? drops.map((d) => barRow(d.cause.replaceAll("_", " "), whole(d.count), d.count / most))
    : [element("p", { text: "nothing" })]));
  const share = (name, part) => barRow(name, `${whole(part.used)} / ${whole(part.total)}`,
    part.total ? part.used / part.total : 0);
  at("resources").replaceChildren(share("Endpoints", o.endpoints),
    share("Port pairs", o.port_pairs), share("Packet buffers", o.buffers),
    ...o.states.map((s) => element("div", { class: "row" }, element("span", { text: s.name }),
      element("span", { text: s.value }))));
}

function showFacts(o) {
  const backend = o.fallback_reason ? `${o.backend} (${o.fallback_reason})` : o.backend;
  at("facts").textContent = `${o.version} · ${backend} · ${o.workers} worker${o.workers === 1 ? "" : "s"}`
    + ` · up ${duration(o.uptime_s)}`;
  const state = at("state");
  const text = o.draining ? "draining: no new calls" : "serving";
  if (state.textContent !== text) {
    state.textContent = text;
  }
  state.className = o.draining ? "draining" : "";
  document.title = `${whole(o.now.calls)} calls · mgw`;
}

// --- calls

function codecsOf(call) {
  return call.legs.map((leg) => (leg.codec || leg.kind).replace(/\/\d+$/, "")).join(" ↔ ");
}

function cellText(call, key) {
  switch (key) {
    case "codecs": return codecsOf(call);
    case "age_s": return duration(call.age_s);
    case "loss": return percent(call.loss);
    case "jitter_ms":
    case "round_trip_ms": return ms(call[key]);
    case "mos": return fixed(call.mos, 2);
    case "packets":
    case "drops": return whole(call[key]);
    default: return String(call[key]);
  }
}

function lossKind(loss) {
  return loss >= 0.05 ? "bad" : loss >= 0.01 ? "poor" : "";
}

// One-way audio: somebody speaks, and a leg's peer never did.
function isOneWay(call) {
  return call.packets > 0 && call.legs.some((leg) => leg.packets_in === 0);
}

function callRow(call) {
  const row = element("tr", { class: call.endpoint === view.call ? "open" : "" });
  for (const column of COLUMNS) {
    const text = cellText(call, column.key);
    const cell = element("td", { class: column.number ? "number" : "text", title: column.number ? "" : text });
    if (column.key === "endpoint") {
      const open = element("button", { type: "button", text: text.split("@")[0],
        "aria-label": `Open the call on ${text}` });
      open.addEventListener("click", () => openCall(call.endpoint));
      cell.append(open);
    } else {
      cell.textContent = text;
    }
    const kind = column.key === "mos" ? quality(call.mos)
      : column.key === "loss" ? lossKind(call.loss)
      : column.key === "packets" && isOneWay(call) ? "bad"
      : column.key === "drops" && call.drops === 0 ? "none" : "";
    if (kind) {
      cell.classList.add(kind);
    }
    row.append(cell);
  }
  return row;
}

function showCalls(answer) {
  const body = at("calls").tBodies[0];
  const focused = document.activeElement && body.contains(document.activeElement)
    ? document.activeElement.getAttribute("aria-label") : null;
  const rows = answer.calls.map(callRow);
  body.replaceChildren(...rows);
  if (focused) {
    rows.flatMap((row) => [...row.querySelectorAll("button")])
      .find((button) => button.getAttribute("aria-label") === focused)?.focus();
  }
  const last = answer.offset + answer.calls.length;
  const range = answer.matching > PAGE_CALLS ? `${answer.offset + 1}–${last} of ` : "";
  at("matching").textContent = answer.total === 0 ? "none"
    : `${range}${whole(answer.matching)}${answer.matching === answer.total ? "" : ` of ${whole(answer.total)}`}`;
  at("previous").disabled = answer.offset === 0;
  at("next").disabled = last >= answer.matching;
}

function makeHeader() {
  const row = at("calls").tHead.rows[0];
  for (const column of COLUMNS) {
    const cell = element("th", { scope: "col", class: column.number ? "number" : "" });
    if (column.sort) {
      const button = element("button", { type: "button", text: column.title });
      button.addEventListener("click", () => {
        const first = ASCENDING_FIRST.has(column.sort) ? "asc" : "desc";
        view.order = view.sort === column.sort ? (view.order === "asc" ? "desc" : "asc") : first;
        view.sort = column.sort;
        view.offset = 0;
        markOrder();
        refresh();
      });
      cell.append(button);
      cell.dataset.sort = column.sort;
    } else {
      cell.textContent = column.title;
    }
    row.append(cell);
  }
  markOrder();
}

function markOrder() {
  for (const cell of at("calls").tHead.rows[0].cells) {
    if (cell.dataset.sort === view.sort) {
      cell.setAttribute("aria-sort", view.order === "asc" ? "ascending" : "descending");
    } else {
      cell.removeAttribute("aria-sort");
    }
  }
}

// --- one call

function textAt(x, y, text, kind = "", anchor = "middle") {
  return drawn("text", { x, y, class: kind, "text-anchor": anchor }, text);
}

function shortened(text, length) {
  return text.length > length ? `${text.slice(0, length - 1)}…` : text;
}

// One leg from its peer (outside) to the endpoint (inside): `side` -1 lies on the left.
function drawLeg(leg, side, y, height) {
  const at_x = (x) => (side < 0 ? x : 1200 - x);
  const parts = [];
  const box = (x, width, kind) => drawn("rect", { class: `box ${kind}`, x: side < 0 ? x : 1200 - x - width,
    y, width, height, rx: 5 });
  const kind = quality(leg.mos);
  const isLine = leg.kind === "e1";
  const peerX = 85, legX = 415, middle = y + height / 2;
  parts.push(box(0, 170, ""), box(330, 170, ""));
  parts.push(textAt(at_x(peerX), middle - 8, isLine ? "E1 line" : "peer", "quiet"));
  parts.push(textAt(at_x(peerX), middle + 12, isLine ? "sub-slot" : shortened(leg.remote || "not known", 24), "strong"));
  parts.push(textAt(at_x(legX), middle - 24, shortened(`${leg.kind === "rtp" ? "leg" : leg.kind} ${leg.connection}`, 22), "quiet"));
  parts.push(textAt(at_x(legX), middle - 5, shortened(leg.codec || "–", 22), "strong"));
  parts.push(textAt(at_x(legX), middle + 14, leg.mode, "quiet"));
  parts.push(textAt(at_x(legX), middle + 32, shortened(leg.local || "", 24), "quiet"));
  // From the peer above, to the peer below.
  const idle = leg.packets_in === 0 ? " idle" : "";
  const wire = (from, to, wire_y, extra) => {
    const tip = at_x(to), back = at_x(to) + (to > from ? 1 : -1) * side * 7;
    parts.push(drawn("path", { class: `wire ${extra}`, d: `M${at_x(from)},${wire_y} L${tip},${wire_y}` }));
    parts.push(drawn("path", { class: `wire ${extra.replace("idle", "")}`,
      d: `M${back},${wire_y - 4} L${tip},${wire_y} L${back},${wire_y + 4}` }));
  };
  wire(176, 324, middle - 4, `${kind}${idle}`);
  wire(324, 176, middle + 8, leg.packets_out === 0 ? "idle" : "");
  wire(506, 534, middle - 4, idle);
  wire(534, 506, middle + 8, leg.packets_out === 0 ? "idle" : "");
  const mid = at_x(250);
  parts.push(textAt(mid, middle - 34, leg.packets_in === 0 ? "no packets"
    : `${percent(leg.loss)} lost`, lossKind(leg.loss) || (leg.packets_in === 0 ? "bad" : "")));
  parts.push(textAt(mid, middle - 15, leg.mos === null ? `${ms(leg.jitter_ms)} jitter`
    : `${ms(leg.jitter_ms)} · MOS ${fixed(leg.mos, 2)}`, leg.mos === null ? "quiet" : `strong ${kind}`));
  parts.push(textAt(mid, middle + 26, `${whole(leg.packets_out)} sent`, "quiet"));
  parts.push(textAt(mid, middle + 43, leg.round_trip_ms === null ? "" : `${ms(leg.round_trip_ms)} round trip`, "quiet"));
  return parts;
}

function drawPath(call) {
  const height = 96, gap = 14;
  const right = call.legs.slice(1, 9);
  const rows = Math.max(1, right.length);
  const total = rows * (height + gap) - gap;
  const svg = drawn("svg", { viewBox: `0 0 1200 ${total}`, role: "img",
    "aria-label": `The way of the packets through ${call.endpoint}` });
  svg.append(drawn("rect", { class: "box center", x: 540, y: 0, width: 120, height: total, rx: 5 }),
    textAt(600, total / 2 - 8, "endpoint", "quiet"),
    textAt(600, total / 2 + 12, shortened(call.endpoint.split("@")[0].replace("rtpbridge/", "bridge "), 17), "strong"));
  if (call.legs.length > 0) {
    svg.append(...drawLeg(call.legs[0], -1, (total - height) / 2, height));
  }
  right.forEach((leg, i) => svg.append(...drawLeg(leg, 1, i * (height + gap), height)));
  return svg;
}

const LEG_ROWS = [
  ["Packets in", (l) => whole(l.packets_in)], ["Packets out", (l) => whole(l.packets_out)],
  ["Lost", (l) => whole(l.lost)], ["Loss", (l) => percent(l.loss)],
  ["Jitter", (l) => ms(l.jitter_ms)], ["Round trip", (l) => ms(l.round_trip_ms)],
  ["Reordered", (l) => whole(l.reordered)], ["Duplicates", (l) => whole(l.duplicates)],
  ["Timestamp errors", (l) => `${whole(l.timestamp_errors_in)} in, ${whole(l.timestamp_errors_out)} out`],
  ["Peer reports", (l) => (l.peer_reports
    ? `${percent(l.peer_reports.loss)} lost, ${ms(l.peer_reports.jitter_ms)}` : "–")],
  ["Dropped", (l) => (l.drops_by_cause.length
    ? l.drops_by_cause.map((d) => `${whole(d.count)} ${d.cause.replaceAll("_", " ")}`).join(", ") : "0")],
];

function showCall(call) {
  const panel = at("call");
  const was_hidden = panel.hidden;
  panel.hidden = false;
  at("call-title").textContent = call === null ? `${view.call}: no call any more`
    : `${call.endpoint} · call ${call.call_id} · ${duration(call.age_s)}`;
  if (call === null) {
    at("path").replaceChildren();
    at("legs").replaceChildren();
  } else {
    at("path").replaceChildren(drawPath(call));
    const head = element("tr", {}, element("th", { scope: "col", text: "Leg" }),
      ...LEG_ROWS.map(([title]) => element("th", { scope: "col", text: title,
        class: title === "Dropped" ? "" : "number" })));
    const rows = call.legs.map((leg) => element("tr", {},
      element("td", { text: `${leg.connection || leg.kind} ${leg.codec}` }),
      ...LEG_ROWS.map(([title, text]) => element("td", { text: text(leg),
        class: title === "Dropped" ? "" : "number" }))));
    at("legs").replaceChildren(element("table", {}, element("thead", {}, head), element("tbody", {}, ...rows)));
  }
  if (was_hidden) {
    panel.focus();
  }
}

function openCall(endpoint) {
  location.hash = endpoint === null ? "" : `#/call/${encodeURIComponent(endpoint)}`;
}

function readHash() {
  const match = /^#\/call\/(.+)$/.exec(location.hash);
  let endpoint = null;
  try {
    endpoint = match ? decodeURIComponent(match[1]) : null;
  } catch {
    endpoint = null;
  }
  view.call = endpoint;
  if (endpoint === null) {
    at("call").hidden = true;
  }
  refresh();
}

// --- asking

async function ask(path) {
  const answer = await fetch(path, { cache: "no-store" });
  if (answer.status === 404) {
    return null;
  }
  if (!answer.ok) {
    throw new Error(answer.statusText);
  }
  return answer.json();
}

async function refresh() {
  const mine = ++asking;
  const query = new URLSearchParams({ sort: view.sort, order: view.order, filter: view.filter,
    limit: PAGE_CALLS, offset: view.offset });
  try {
    const wanted = view.call;
    const [overview, calls, call] = await Promise.all([ask("api/overview"), ask(`api/calls?${query}`),
      wanted === null ? null : ask(`api/call/${encodeURIComponent(wanted)}`)]);
    if (mine !== asking) {
      return;
    }
    showFacts(overview);
    showFigures(overview);
    charts.forEach((chart) => drawChart(chart, [...overview.history, overview.now]));
    showSide(overview);
    showCalls(calls);
    if (wanted !== null) {
      showCall(call);
    }
    document.body.dataset.ready = "yes";
  } catch {
    if (mine === asking) {
      at("state").textContent = "no answer from the gateway";
      at("state").className = "away";
    }
  }
}

const charts = CHARTS.map(makeChart);
charts.forEach(follow);
at("charts").append(...charts.map((chart) => chart.figure));
makeHeader();
at("filter").addEventListener("input", (event) => {
  view.filter = event.target.value;
  view.offset = 0;
  refresh();
});
at("previous").addEventListener("click", () => { view.offset = Math.max(0, view.offset - PAGE_CALLS); refresh(); });
at("next").addEventListener("click", () => { view.offset += PAGE_CALLS; refresh(); });
at("close").addEventListener("click", () => openCall(null));
document.addEventListener("keydown", (event) => {
  if (event.key === "Escape" && view.call !== null) {
    openCall(null);
  } else if (event.key === "/" && event.target.tagName !== "INPUT") {
    event.preventDefault();
    at("filter").focus();
  }
});
window.addEventListener("hashchange", readHash);
setInterval(() => { if (!document.hidden) { refresh(); } }, PERIOD_MS);
readHash();
