// The charts and the table of a report. Figures are plot.Figure as JSON.
(() => {
'use strict';
const figures = JSON.parse(document.getElementById('figures').textContent);
const css = name => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const symbols = ['circle', 'rect', 'triangle', 'diamond'];
const dashes = ['solid', [8, 3], [3, 3], [8, 3, 2, 3]];
const escape = s => s.replace(/[&<>"]/g, c => '&#' + c.charCodeAt(0) + ';');

// number writes a value with four significant digits, as the tables do.
function number(v) {
  const a = Math.abs(v);
  if (v === 0) return '0';
  if (a >= 1e15 || a < 1e-6) return v.toExponential(3);
  const digits = Math.max(0, 3 - Math.floor(Math.log10(a)));
  let s = v.toFixed(digits);
  if (s.includes('.')) s = s.replace(/\.?0+$/, '');
  const [whole, rest] = s.replace('-', '\u2212').split('.');
  const grouped = whole.replace('\u2212', '').length > 4 ? whole.replace(/\B(?=(\d{3})+$)/g, '\u202f') : whole;
  return rest ? grouped + '.' + rest : grouped;
}

// tick writes a value of an axis: 64K on one of powers of two, 10⁶ where figures would be long.
function tick(scale, v) {
  if (scale === 'log2') {
    const units = ['', 'K', 'M', 'G', 'T'];
    let u = 0;
    while (v >= 1024 && u < 4) { v /= 1024; u++; }
    return +v.toPrecision(3) + units[u];
  }
  const e = Math.floor(Math.log10(Math.abs(v)) + 1e-9);
  if (scale === 'log10' && v > 0 && (e > 3 || e < -3))
    return (f => f === 1 ? '10' : f + '·10')(Math.round(v / 10 ** e)) + String(e).replace(/./g, c => '⁰¹²³⁴⁵⁶⁷⁸⁹'[c] ?? '⁻');
  return number(v);
}

// looks says how each series of a figure is drawn. A formula has the colour of the measured series before it.
function looks(figure) {
  let measured = -1;
  return figure.series.map(s => {
    if (s.kind === 'measured') measured++;
    const i = Math.max(0, measured);
    return { colour: s.kind === 'published' ? '--ink' : '--c' + i % 7, symbol: symbols[i % 4], dash: s.kind === 'formula' ? [6, 4] : dashes[Math.floor(i / 7) % 4] };
  });
}

function option(figure, narrow) {
  const ink = css('--ink'), soft = css('--soft'), line = css('--line'), series = [], look = looks(figure);
  figure.series.forEach((s, i) => {
    const colour = css(look[i].colour), data = s.points.map(p => [p.x, p.y, p.low || p.y, p.high || p.y]);
    const measured = s.kind === 'measured';
    if (measured && s.points.length > 1 && s.points.some(p => p.low && p.low < p.high)) {
      const edge = { type: 'line', name: s.name, stack: 'band' + i, stackStrategy: 'all', symbol: 'none', silent: true, lineStyle: { opacity: 0 }, tooltip: { show: false }, z: 1, band: true };
      series.push({ ...edge, data: data.map(d => [d[0], d[2]]) },
        { ...edge, data: data.map(d => [d[0], d[3] - d[2]]), areaStyle: { color: colour, opacity: .16 } });
    }
    if (s.kind === 'published')
      series.push({ type: 'scatter', name: s.name, data, symbol: look[i].symbol, symbolSize: 13, z: 5, itemStyle: { color: 'transparent', borderColor: colour, borderWidth: 2 } });
    else
      series.push({ type: 'line', name: s.name, data, symbol: measured ? look[i].symbol : 'none', symbolSize: 7, showAllSymbol: true, z: 3,
        itemStyle: { color: colour }, lineStyle: { color: colour, width: 2, type: look[i].dash }, emphasis: { disabled: true } });
  });
  const axis = (a, x) => { const at = range(figure, a, x); return {
    type: a.scale === 'linear' ? 'value' : 'log', logBase: a.scale === 'log2' ? 2 : 10, name: a.label, scale: x,
    nameLocation: x ? 'middle' : 'end', nameGap: x ? 30 : 12, nameTextStyle: { color: soft, align: x ? 'center' : 'left', fontSize: 12.5, padding: x ? 0 : [0, 0, 0, -46] },
    axisLabel: { color: soft, fontSize: 12, hideOverlap: true, showMinLabel: true, showMaxLabel: true, formatter: v => tick(a.scale, v), ...at.axisLabel },
    axisLine: { show: x, onZero: false, lineStyle: { color: soft } }, axisTick: { show: x, lineStyle: { color: soft }, ...at.axisTick }, min: at.min, max: at.max, splitLine: { lineStyle: { color: line, width: .75 }, show: true },
    boundaryGap: x ? [.02, .02] : [0, .05],
  }; };
  return {
    animation: false, textStyle: { fontFamily: 'inherit' }, legend: { show: false, data: figure.series.map(s => s.name) },
    grid: { left: 52, right: narrow ? 14 : 22, top: 34, bottom: 50 },
    xAxis: axis(figure.x, true), yAxis: axis(figure.y, false),
    dataZoom: [{ type: 'inside', xAxisIndex: 0, filterMode: 'none', zoomOnMouseWheel: 'ctrl', moveOnMouseMove: !narrow, moveOnMouseWheel: false, preventDefaultMouseMove: false }],
    tooltip: { trigger: 'axis', confine: true, className: 'tip', backgroundColor: css('--paper'), borderColor: line, textStyle: { color: ink, fontSize: 13 },
      axisPointer: { type: 'line', snap: true, lineStyle: { color: soft, type: 'dashed' } }, formatter: list => tip(figure, list) },
    series,
  };
}

// range pads a logarithmic axis, so that marks lie clear of the other one, and has it ticked at powers of its base, and
// at 2 and 5 times these where there are few.
function range(figure, a, x) {
  if (a.scale === 'linear') return {};
  const all = figure.series.flatMap(s => s.points.flatMap(p => x ? [p.x] : [p.low || p.y, p.high || p.y]));
  const base = a.scale === 'log2' ? 2 : 10, log = v => Math.log(v) / Math.log(base);
  let low = log(Math.min(...all)), high = log(Math.max(...all));
  const pad = Math.max((high - low) * .035, x ? .2 : .06);
  low -= pad;
  high += pad;
  const within = base === 10 && high - low < 2.2 ? [1, 2, 5] : [1], values = [];
  for (let e = Math.floor(low); e <= high; e++)
    for (const f of within) {
      const v = f * base ** e;
      if (log(v) >= low && log(v) <= high) values.push(v);
    }
  return { min: base ** low, max: base ** high, axisTick: { customValues: values }, axisLabel: { customValues: values } };
}

const median = list => list.filter(p => !p.seriesName.startsWith('\0') && p.value.length > 2);

function tip(figure, list) {
  list = median(list);
  if (!list.length) return '';
  const rows = list.map(p => {
    const [, y, low, high] = p.value;
    const colour = figure.series.find(s => s.name === p.seriesName).kind === 'published' ? css('--ink') : p.color;
    return `<tr><td><i style="background:${colour}"></i>${escape(p.seriesName)}</td><td><b>${number(y)}</b></td><td>${low < high ? number(low) + '–' + number(high) : ''}</td></tr>`;
  });
  return `<div>${escape(figure.x.label)}: <b>${tick(figure.x.scale, list[0].value[0])}</b></div><table>${rows.join('')}</table>`;
}

const charts = [];
for (const element of document.querySelectorAll('[data-figure]')) {
  const figure = figures[element.dataset.figure], plot = element.querySelector('.plot'), live = element.querySelector('[aria-live]');
  const chart = echarts.init(plot, null, { renderer: 'svg' });
  const draw = () => chart.setOption(option(figure, plot.clientWidth < 560));
  draw();
  plot.querySelectorAll('svg').forEach(s => s.setAttribute('aria-hidden', 'true'));
  const off = new Set(), look = looks(figure);
  const legend = element.querySelector('.legend');
  figure.series.forEach((s, i) => {
    const b = document.createElement('button');
    b.type = 'button';
    b.setAttribute('aria-pressed', 'true');
    const colour = `var(${look[i].colour})`;
    const shape = { circle: '<circle cx="13" cy="6" r="3.5"/>', rect: '<path d="M9.7 2.7h6.6v6.6h-6.6z"/>', triangle: '<path d="M13 2l4 7.5h-8z"/>', diamond: '<path d="M13 1.5l4 4.5-4 4.5-4-4.5z"/>' }[look[i].symbol];
    const dash = Array.isArray(look[i].dash) ? `stroke-dasharray="${look[i].dash}"` : '';
    b.innerHTML = '<svg aria-hidden="true" viewBox="0 0 26 12">' +
      (s.kind === 'published' ? '' : `<path d="M0 6h26" fill="none" stroke-width="2" style="stroke:${colour}" ${dash}/>`) +
      (s.kind === 'formula' ? '' : `<g style="stroke:${colour};fill:${s.kind === 'published' ? 'none' : colour}" stroke-width="${s.kind === 'published' ? 2 : 0}">${shape}</g>`) + '</svg>';
    b.append(s.name);
    b.addEventListener('click', () => {
      off.has(s.name) ? off.delete(s.name) : off.add(s.name);
      b.setAttribute('aria-pressed', String(!off.has(s.name)));
      chart.dispatchAction({ type: off.has(s.name) ? 'legendUnSelect' : 'legendSelect', name: s.name });
    });
    legend.append(b);
  });

  const zoom = how => {
    const z = chart.getOption().dataZoom[0], middle = (z.start + z.end) / 2;
    const half = how === 'all' ? 50 : Math.min(50, (z.end - z.start) / 2 * (how === 'in' ? .5 : 2));
    const start = Math.max(0, Math.min(100 - 2 * half, how === 'all' ? 0 : middle - half));
    chart.dispatchAction({ type: 'dataZoom', dataZoomIndex: 0, start, end: start + 2 * half });
  };
  element.querySelectorAll('[data-zoom]').forEach(b => b.addEventListener('click', () => zoom(b.dataset.zoom)));

  // Keys read the points of the curves that are shown, from left to right.
  let at = -1;
  const read = step => {
    const shown = figure.series.filter(s => !off.has(s.name));
    const xs = [...new Set(shown.flatMap(s => s.points.map(p => p.x)))].sort((a, b) => a - b);
    if (!xs.length) return;
    at = Math.max(0, Math.min(xs.length - 1, at + step));
    const here = shown.flatMap(s => s.points.filter(p => p.x === xs[at]).map(p => [s.name, p]));
    const [px, py] = chart.convertToPixel({ xAxisIndex: 0, yAxisIndex: 0 }, [xs[at], here[0][1].y]);
    chart.dispatchAction({ type: 'showTip', x: px, y: py });
    live.textContent = `${figure.x.label} ${tick(figure.x.scale, xs[at])}: ` + here.map(([n, p]) => `${n} ${number(p.y)}`).join('; ');
  };
  plot.addEventListener('keydown', e => {
    const action = { ArrowRight: () => read(1), ArrowLeft: () => read(-1), Home: () => { at = 0; read(0); }, '+': () => zoom('in'), '-': () => zoom('out'), '0': () => zoom('all'),
      Escape: () => chart.dispatchAction({ type: 'hideTip' }) }[e.key];
    if (action && !e.ctrlKey && !e.metaKey && !e.altKey) { e.preventDefault(); action(); }
  });
  plot.addEventListener('blur', () => chart.dispatchAction({ type: 'hideTip' }));
  charts.push({ id: element.dataset.figure, chart, draw, plot });
}

const redraw = () => charts.forEach(c => { c.chart.resize(); c.draw(); });
let pending = 0;
addEventListener('resize', () => { cancelAnimationFrame(pending); pending = requestAnimationFrame(redraw); });
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', redraw);
addEventListener('beforeprint', redraw);
addEventListener('afterprint', redraw);

const table = document.getElementById('table');
if (table) {
  const body = table.tBodies[0], rows = [...body.rows], count = document.getElementById('count');
  const filter = document.getElementById('filter'), mode = document.getElementById('mode');
  const text = rows.map(r => r.textContent.toLowerCase());
  const show = () => {
    const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
    let n = 0;
    rows.forEach((r, i) => {
      r.hidden = !(words.every(w => text[i].includes(w)) && (!mode.value || r.dataset.mode === mode.value));
      n += !r.hidden;
    });
    count.textContent = `${n} of ${rows.length} results`;
  };
  filter.addEventListener('input', show);
  mode.addEventListener('change', show);
  filter.form.addEventListener('submit', e => e.preventDefault());
  show();
  table.tHead.addEventListener('click', e => {
    const button = e.target.closest('button');
    if (!button) return;
    const th = button.parentElement, up = th.getAttribute('aria-sort') !== 'ascending';
    for (const other of th.parentElement.cells) other.setAttribute('aria-sort', 'none');
    th.setAttribute('aria-sort', up ? 'ascending' : 'descending');
    const i = +button.dataset.column, of = r => r.cells[i].dataset.v;
    const compare = (a, b) => {
      if (of(a) === undefined) return a.cells[i].textContent.localeCompare(b.cells[i].textContent) * (up ? 1 : -1);
      const x = +of(a), y = +of(b);
      // What has no value stands last in both directions.
      return Number.isNaN(x) || Number.isNaN(y) ? Number.isNaN(x) - Number.isNaN(y) : (x - y) * (up ? 1 : -1);
    };
    body.append(...[...body.rows].sort(compare));
  });
}
// For tests, and for whoever looks at the page by the browser's console.
window.report = { charts, figures };
})();
