'use strict';
(() => {
  const report = JSON.parse(document.getElementById('report-data').textContent);
  const kChunk = 40;  // rows that are made at a time
  const kPrinted = 12;  // rows that a printer gets (page.css), which have their images from the start

  /** An element with properties and children; texts become text nodes, never markup. */
  function make(tag, properties = {}, ...children) {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(properties)) {
      if (name in element) element[name] = value;
      else element.setAttribute(name, value);
    }
    element.append(...children);
    return element;
  }

  // ---- charts: the values under the pointer ----

  function makeReadout(figure) {
    const chart = report.charts[Number(figure.dataset.chart)];
    const svg = figure.querySelector('svg');
    const tip = make('div', {className: 'tip', hidden: true});
    const cursor = document.createElementNS('http://www.w3.org/2000/svg', 'path');
    cursor.setAttribute('class', 'cursor');
    svg.append(cursor);
    figure.append(tip);
    const hide = () => {
      tip.hidden = true;
      cursor.setAttribute('d', '');
    };
    const show = (event) => {
      const box = svg.getBoundingClientRect();
      const scale = box.width / chart.width;
      const at = (event.clientX - box.left) / scale;
      const nearest = chart.points.reduce((a, b) => Math.abs(b[0] - at) < Math.abs(a[0] - at) ? b : a);
      cursor.setAttribute('d', `M${nearest[0]} ${chart.top}V${chart.bottom}`);
      tip.replaceChildren(make('b', {}, nearest[1]), ...nearest[2].map(([series, text]) => {
        const [label, color] = chart.series[series];
        return make('div', {}, make('i', {className: `k${color}`}), `${label}: ${text}`);
      }));
      tip.hidden = false;
      const left = svg.offsetLeft + nearest[0] * scale;
      const room = figure.offsetWidth - tip.offsetWidth;
      tip.style.left = `${Math.max(0, Math.min(left + 12, room))}px`;
      tip.style.top = `${svg.offsetTop + box.height - 30}px`;
    };
    svg.addEventListener('pointermove', show);
    svg.addEventListener('pointerdown', show);
    svg.addEventListener('pointerleave', hide);
  }
  document.querySelectorAll('.readout').forEach(makeReadout);

  // ---- prompts ----

  const place = document.getElementById('browser');
  if (!place) return;

  const prompts = report.prompts;
  const severalSamples = prompts.some((prompt) => prompt.s > 0);
  const images = [];  // by column, read when first needed
  function imageOf(column, row) {
    images[column] ??= JSON.parse(document.getElementById(`report-images-${column}`).textContent);
    return images[column][row];
  }
  const nameOf = (row) =>
    `prompt-${prompts[row].p}${severalSamples ? `-${prompts[row].s}` : ''}`;
  const numberOf = (row) => `#${prompts[row].p}${severalSamples ? `.${prompts[row].s}` : ''}`;

  const seeds = [...new Set(report.columns.map((column) => column.seed))];
  const methods = [...new Set(report.columns.map((column) => column.method))];
  const trained = [...new Set(report.columns.filter((column) => !column.base).map((column) => column.method))];
  const start = {
    text: '', seed: String(seeds[0]), metric: report.metric, method: report.hero, against: report.baseline,
    outcome: 'all', sort: 'position', descending: false, tag: '', verdict: '', boxes: true,
  };
  const state = {...start};

  const metric = () => report.metrics.findIndex((one) => one.key === state.metric);
  const metricInfo = () => report.metrics[metric()];
  const shownColumns = () =>
    report.columns.flatMap((column, index) => String(column.seed) === state.seed ? [index] : []);
  const columnOf = (method) =>
    report.columns.findIndex((column) => column.method === method && String(column.seed) === state.seed);
  const valueOf = (row, column) => column < 0 ? null : prompts[row].c[column].v[metric()] ?? null;

  /** The method's value minus the other's, or null where one is missing. */
  function differenceOf(row) {
    const a = valueOf(row, columnOf(state.method)), b = valueOf(row, columnOf(state.against));
    return a === null || b === null ? null : a - b;
  }
  const signOf = () => metricInfo().better === 'down' ? -1 : 1;
  const failsAt = (row, column) => {
    const value = valueOf(row, column);
    return value !== null && (metricInfo().best - value) * signOf() > 0;
  };
  const outcomes = {
    all: {title: 'All', holds: () => true},
    wins: {title: 'Wins', holds: (row) => (differenceOf(row) ?? 0) * signOf() > 0},
    ties: {title: 'Ties', holds: (row) => differenceOf(row) === 0},
    losses: {title: 'Losses', holds: (row) => (differenceOf(row) ?? 0) * signOf() < 0},
    failures: {title: 'Failures', needsBest: true, holds: (row) => failsAt(row, columnOf(state.method))},
    allfail: {
      title: 'All fail', needsBest: true,
      holds: (row) => trained.every((method) => failsAt(row, columnOf(method))),
    },
    unscored: {title: 'Not scored', holds: (row) => shownColumns().some((column) => valueOf(row, column) === null)},
  };
  const helpOf = () => ({
    all: 'every prompt',
    wins: `${state.method} scored better than ${state.against}`,
    ties: `${state.method} scored as ${state.against}`,
    losses: `${state.method} scored worse than ${state.against}`,
    failures: `${state.method} short of the best possible ${metricInfo().title}`,
    allfail: `every trained method short of the best possible ${metricInfo().title}`,
    unscored: `${metricInfo().title} missing for at least one method`,
  });

  const format = (value, signed) => {
    if (value === null) return '\u2014';
    const info = metricInfo();
    const text = Math.abs(info.percent ? 100 * value : value).toFixed(info.percent ? Math.min(info.decimals, 1) : Math.min(info.decimals, 3));
    const zero = Number(text) === 0;
    return (value < 0 && !zero ? '\u2212' : signed && !zero ? '+' : '') + text;
  };

  // What a rule made of images: only where some were judged.
  const tags = [...new Set(prompts.flatMap((prompt) => prompt.g ?? []))].sort();
  const isJudged = prompts.some((prompt) => prompt.c.some((cell) => cell.j !== undefined));
  const hasObjects = prompts.some((prompt) => prompt.c.some((cell) => cell.o));
  const verdictOf = (cell) => cell?.j === undefined ? 'none' : cell.j === '' ? 'right' : 'wrong';
  const verdictTitles = {right: 'right', wrong: 'wrong', none: 'not judged'};

  // Searching is for a text anywhere in target, prompt, transcripts or judgements, whatever its case.
  const haystacks = prompts.map((prompt) => [`#${prompt.p}`, prompt.t, prompt.x,
    ...prompt.c.map((cell) => cell.j ?? ''),
    ...prompt.c.map((cell) => (cell.d ?? []).filter(([kind]) => kind !== 2).map(([, text]) => text).join(''))]
    .join('\n').toLowerCase());

  function sortKey() {
    const name = state.sort;
    if (name === 'position') return (row) => row;
    if (name === 'target') return (row) => (prompts[row].t || prompts[row].x).toLowerCase();
    if (name === 'difference') return differenceOf;
    if (name === 'size') return (row) => differenceOf(row) === null ? null : Math.abs(differenceOf(row));
    if (name === 'spread') {
      return (row) => {
        const values = trained.map((method) => valueOf(row, columnOf(method)));
        return values.includes(null) ? null : Math.max(...values) - Math.min(...values);
      };
    }
    const column = columnOf(name.slice('score:'.length));
    return (row) => valueOf(row, column);
  }

  /** Rows of the current view in order; those without a value to sort by come last, ties keep their order. */
  function sorted(rows) {
    const key = sortKey();
    const keys = new Map(rows.map((row) => [row, key(row)]));
    const direction = state.descending ? -1 : 1;
    return rows.sort((a, b) => {
      const x = keys.get(a), y = keys.get(b);
      if (x === null || y === null) return (x === null) - (y === null) || a - b;
      return (x < y ? -1 : x > y ? 1 : 0) * direction || a - b;
    });
  }

  const allRows = prompts.map((_, row) => row);
  function searched() {
    const words = state.text.toLowerCase().split(/\s+/).filter(Boolean);
    return allRows.filter((row) => words.every((word) => haystacks[row].includes(word)) &&
      (!state.tag || prompts[row].g === state.tag) &&
      (!state.verdict || verdictOf(prompts[row].c[columnOf(state.method)]) === state.verdict));
  }

  // ---- controls ----

  function choice(label, name, options) {
    const select = make('select', {name}, ...options.map(([value, text]) => make('option', {value}, text)));
    select.value = state[name];
    select.addEventListener('change', () => {
      state[name] = select.value;
      refresh();
    });
    return make('label', {}, label, select);
  }
  const plain = (values) => values.map((value) => [value, value]);
  const search = make('input', {type: 'search', placeholder: `words in prompt, target, ${isJudged ? 'judgement' : 'transcript'}`, name: 'text'});
  let waiting = 0;
  search.addEventListener('input', () => {
    clearTimeout(waiting);
    waiting = setTimeout(() => {
      state.text = search.value;
      refresh();
    }, 120);
  });
  const sorts = [
    ['position', 'Position'], ['target', 'Text'], ['difference', 'Difference'], ['size', 'Size of difference'],
    ['spread', 'Spread of the methods'], ...methods.map((method) => [`score:${method}`, `Score of ${method}`]),
  ];
  const direction = make('button', {type: 'button', name: 'direction'});
  direction.addEventListener('click', () => {
    state.descending = !state.descending;
    refresh();
  });
  const outcomeButtons = Object.entries(outcomes).map(([name, outcome]) => {
    const button = make('button', {type: 'button', value: name}, outcome.title, make('span'));
    button.addEventListener('click', () => {
      state.outcome = name;
      refresh();
    });
    return button;
  });
  const reset = make('button', {type: 'button', name: 'reset'}, 'Reset');
  reset.addEventListener('click', () => {
    Object.assign(state, start);
    search.value = '';
    refresh();
  });
  const boxes = make('input', {type: 'checkbox', name: 'boxes'});
  boxes.addEventListener('change', () => {
    state.boxes = boxes.checked;
    showBoxes();
  });
  function showBoxes() {
    boxes.checked = state.boxes;
    document.body.classList.toggle('without-boxes', !state.boxes);
  }
  const controls = make('div', {className: 'controls'}, make('label', {}, 'Search ( / )', search),
    choice('Metric', 'metric', report.metrics.map((one) => [one.key, one.title])),
    choice('Method', 'method', plain(methods)), choice('Against', 'against', plain(methods)),
    ...seeds.length > 1 ? [choice('Seed', 'seed', plain(seeds.map(String)))] : [],
    ...tags.length > 0 ? [choice('Tag', 'tag', [['', 'all'], ...plain(tags)])] : [],
    ...isJudged ? [choice('Method is', 'verdict', [['', 'right or wrong'], ...Object.entries(verdictTitles)])] : [],
    choice('Sort by', 'sort', sorts), direction, reset,
    ...hasObjects ? [make('label', {className: 'switch'}, boxes, 'Boxes of objects')] : [],
    make('div', {className: 'outcomes', role: 'group', ariaLabel: 'Show'}, ...outcomeButtons));
  const status = make('p', {className: 'status', role: 'status'});
  const printed = make('p', {className: 'printed'});
  const head = make('tr'), body = make('tbody');
  const table = make('table', {className: 'prompts'}, make('thead', {}, head), body);
  const more = make('button', {type: 'button', className: 'more'}, 'Show more');
  const rest = make('div', {className: 'rest'}, more);  // as tall as the rows that are not made yet
  place.append(controls, status, printed, table, rest);
  // The headings stay visible below the controls, however many lines these take.
  new ResizeObserver(() => {
    place.style.setProperty('--controls', `${controls.offsetHeight}px`);
  }).observe(controls);

  // ---- rows ----

  function judgementOf(cell) {
    if (cell.j === '') return make('span', {className: 'right'}, 'right');
    return make('span', {}, make('span', {className: 'wrong'}, 'wrong'),
      ...cell.j.split('\n').map((line) => make('span', {className: 'reason'}, line)));
  }

  function transcriptOf(cell) {
    if (cell.j !== undefined) return judgementOf(cell);
    const reason = cell.r?.[state.metric];
    if (!cell.d) return make('span', {className: reason ? 'none' : ''}, reason ? `no score: ${reason}` : '');
    if (cell.d.length === 0 || cell.d.every(([kind]) => kind === 2)) return make('span', {className: 'none'}, 'nothing read');
    return make('span', {}, ...cell.d.map(([kind, text]) => {
      if (kind === 0) return text;
      if (kind === 1) return make('span', {className: 'wrong'}, text);
      return make('span', {className: 'gap', title: `missing: ${text}`}, '\u2038');
    }));
  }

  // Boxes are drawn in per cent of the image and in pixels of the screen, so that they are sharp at any size.
  const svgOf = (tag, attributes, ...children) => {
    const element = document.createElementNS('http://www.w3.org/2000/svg', tag);
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
    element.append(...children);
    return element;
  };
  const objectName = ([name, score, , , , , colour]) => `${name} ${score.toFixed(2)}${colour ? ` ${colour}` : ''}`;

  /** x, y, right and bottom of an object's box, in per cent of the image. */
  function placeOf(object, [width, height]) {
    const shareOf = (pixels, side) => 100 * Math.min(Math.max(pixels, 0), side) / side;
    return [shareOf(object[2], width), shareOf(object[3], height), shareOf(object[4], width), shareOf(object[5], height)];
  }

  /** The name at a corner of the box where it hides no name of `taken`, if there is one. */
  function labelOf(object, [left, top, right, bottom], taken) {
    const name = objectName(object), wide = 2.7 * name.length, high = 6;  // per cent of an image as lists show it
    const atRight = left > 50, x = atRight ? right - wide : left;
    const heights = [top - high, bottom, top, bottom - high].filter((y) => y >= 0 && y + high <= 100);
    const isFree = (y) => taken.every((other) => Math.abs(other.y - y) >= high || x >= other.x + other.wide || other.x >= x + wide);
    const y = heights.find(isFree) ?? heights[0];
    taken.push({x, y, wide});
    return svgOf('text', {
      x: `${atRight ? right : left}%`, y: `${y + high - 1.5}%`, dx: atRight ? -3 : 3, 'text-anchor': atRight ? 'end' : 'start',
    }, name);
  }

  /** The image with the boxes of what was found in it; those that do not count lie beneath. */
  function withObjects(image, cell) {
    if (!cell.o || image.tagName !== 'IMG') return image;
    image.style.aspectRatio = cell.z[0] / cell.z[1];
    const taken = [];
    const drawn = [...cell.o].sort((a, b) => b[7] - a[7]).map((object) => {
      const place = placeOf(object, cell.z), [x, y, right, bottom] = place;
      const at = {x: `${x}%`, y: `${y}%`, width: `${right - x}%`, height: `${bottom - y}%`};
      return svgOf('g', {class: object[7] ? 'counted' : 'uncounted'}, svgOf('rect', {...at, class: 'halo'}),
        svgOf('rect', {...at, class: 'box'}), labelOf(object, place, taken));
    });
    return make('span', {className: 'shot'}, image,
      svgOf('svg', {class: 'objects', 'aria-hidden': 'true'}, ...drawn.reverse()));
  }

  function objectsTable(cell) {
    if (!cell.o) return '';
    return make('table', {className: 'found-objects'}, ...cell.o.map((object) => make('tr', {},
      make('td', {}, objectName(object)), make('td', {className: 'num'}, object[7] ? 'counted' : 'not counted'))));
  }

  // An image is given its source when it comes near, so that long lists stay light.
  const nearImage = new IntersectionObserver((entries) => {
    for (const {isIntersecting, target} of entries) {
      if (!isIntersecting) continue;
      nearImage.unobserve(target);
      target.src = imageOf(Number(target.dataset.column), Number(target.dataset.row));
    }
  }, {rootMargin: '1000px'});

  function pictureOf(row, column) {
    if (!imageOf(column, row)) return make('span', {className: 'none'}, prompts[row].c[column].n || 'no image');
    const image = make('img', {
      alt: `${report.columns[column].method}: ${prompts[row].t || prompts[row].x}`, decoding: 'async',
    });
    Object.assign(image.dataset, {row, column});
    image.addEventListener('load', () => image.classList.toggle('small', image.naturalWidth < 200));
    if (made < kPrinted) image.src = imageOf(column, row);
    else nearImage.observe(image);
    return image;
  }

  function cellOf(row, column) {
    const cell = prompts[row].c[column], method = report.columns[column].method;
    const picture = pictureOf(row, column);
    const shown = picture.tagName !== 'IMG' ? picture : make('button',
      {type: 'button', className: 'picture', ariaLabel: `Enlarge ${numberOf(row)}, ${method}`}, withObjects(picture, cell));
    if (shown !== picture) shown.addEventListener('click', () => enlarge(row));
    return make('td', {}, make('span', {className: 'method'}, method), shown,
      make('div', {className: 'read'}, transcriptOf(cell), make('b', {}, format(valueOf(row, column)))));
  }

  function deltaOf(row) {
    const difference = differenceOf(row);
    const better = (difference ?? 0) * signOf();
    const name = difference === null ? 'not scored' : better > 0 ? 'win' : better < 0 ? 'loss' : 'tie';
    return make('td', {className: `delta ${name}`}, make('b', {}, format(difference, true)), make('span', {}, name));
  }

  function rowOf(row) {
    const prompt = prompts[row];
    return make('tr', {id: nameOf(row)},
      make('td', {className: 'text'}, make('a', {href: `#${nameOf(row)}`, title: 'link to this prompt'}, numberOf(row)),
        make('b', {}, prompt.t), make('span', {}, prompt.x)),
      ...shownColumns().map((column) => cellOf(row, column)), deltaOf(row));
  }

  let view = [], made = 0;
  // Looks ahead, and not behind the headings at the top: what follows the list can be read without making it.
  const nearRest = new IntersectionObserver((entries) => {
    if (entries.some((entry) => entry.isIntersecting)) makeRows(kChunk);
  }, {rootMargin: '-80px 0px 1200px 0px'});
  function makeRows(count) {
    const end = Math.min(view.length, made + count);
    const fragment = document.createDocumentFragment();
    for (; made < end; ++made) fragment.append(rowOf(view[made]));
    body.append(fragment);
    rest.hidden = made >= view.length;
    rest.style.height = `${body.offsetHeight / made * (view.length - made)}px`;
    // Observed anew, it reports at once whether it is still near.
    nearRest.unobserve(rest);
    nearRest.observe(rest);
  }
  more.addEventListener('click', () => makeRows(kChunk));

  function headingOf(name, title, small, css) {
    const button = make('button', {type: 'button'}, title);
    const active = state.sort === name;
    if (active) button.append(state.descending ? ' \u25be' : ' \u25b4');
    button.addEventListener('click', () => {
      // Numbers are first wanted from the top.
      state.descending = active ? !state.descending : name !== 'position' && name !== 'target';
      state.sort = name;
      refresh();
    });
    const heading = make('th', {className: css, scope: 'col'}, button, make('small', {}, small));
    heading.setAttribute('aria-sort', active ? (state.descending ? 'descending' : 'ascending') : 'none');
    return heading;
  }

  function refreshControls(found) {
    const help = helpOf();
    for (const button of outcomeButtons) {
      const outcome = outcomes[button.value];
      button.setAttribute('aria-pressed', String(button.value === state.outcome));
      button.disabled = Boolean(outcome.needsBest) && metricInfo().best === null;
      button.title = button.disabled ? `${metricInfo().title} has no best possible value` : help[button.value];
      button.lastChild.textContent = button.disabled ? '' : found.filter(outcome.holds).length;
    }
    for (const select of controls.querySelectorAll('select')) select.value = state[select.name];
    showBoxes();
    direction.textContent = state.descending ? 'Descending \u25be' : 'Ascending \u25b4';
    head.replaceChildren(headingOf('position', 'Prompt', '', 'text'),
      ...shownColumns().map((column) => {
        const {method, checkpoint, base} = report.columns[column];
        return headingOf(`score:${method}`, method, base ? 'base model' : `checkpoint ${checkpoint}`, '');
      }),
      headingOf('difference', 'Difference', `${state.method} \u2212 ${state.against}`, 'delta'));
  }

  function refresh() {
    const best = metricInfo().best !== null;
    if (outcomes[state.outcome].needsBest && !best) state.outcome = 'all';
    const found = searched();
    refreshControls(found);
    view = sorted(found.filter(outcomes[state.outcome].holds));
    status.textContent = `${view.length} of ${prompts.length} prompts: ${helpOf()[state.outcome]}` +
      (state.tag ? `, ${state.tag}` : '') +
      (state.verdict ? `, ${state.method} ${verdictTitles[state.verdict]}` : '') +
      (state.text.trim() ? `, with \u201c${state.text.trim()}\u201d` : '') + '.';
    printed.textContent = status.textContent +
      (view.length > kPrinted ? ` Printed: the first ${kPrinted} of them; the page in a browser shows all.` : '');
    body.replaceChildren();
    made = 0;
    makeRows(kChunk);
    // A new list starts at its top.
    if (place.getBoundingClientRect().top < 0) place.scrollIntoView();
  }

  // ---- one prompt, large ----

  const dialog = make('dialog', {ariaLabel: 'One prompt'});
  document.body.append(dialog);
  let open = -1;  // in the current view
  function step(by) {
    const next = open + by;
    if (next >= 0 && next < view.length) enlarge(view[next]);
  }
  function enlarge(row) {
    open = view.indexOf(row);
    const prompt = prompts[row];
    const button = (text, label, act, off) => {
      const one = make('button', {type: 'button', ariaLabel: label, disabled: off}, text);
      one.addEventListener('click', act);
      return one;
    };
    const metricsOf = (column) => make('table', {}, ...report.metrics.map((one, index) => {
      const value = prompt.c[column].v[index];
      return make('tr', {}, make('td', {}, one.title), make('td', {className: 'num'},
        value === null ? '\u2014' : String(Number(value.toPrecision(4)))));
    }));
    dialog.replaceChildren(
      make('div', {className: 'dialog-head'}, make('h3', {}, `${numberOf(row)} ${prompt.t}`),
        make('div', {}, button('\u2190', 'Previous', () => step(-1), open <= 0),
          button('\u2192', 'Next', () => step(1), open + 1 >= view.length),
          button('Close', 'Close', () => dialog.close()))),
      make('p', {}, prompt.x),
      make('div', {className: 'large'}, ...shownColumns().map((column) => make('div', {},
        make('b', {}, report.columns[column].method), withObjects(pictureOf(row, column), prompt.c[column]),
        make('div', {className: 'read'}, transcriptOf(prompt.c[column])), metricsOf(column),
        objectsTable(prompt.c[column])))));
    if (!dialog.open) dialog.showModal();
  }
  dialog.addEventListener('click', (event) => {
    if (event.target === dialog) dialog.close();
  });

  document.addEventListener('keydown', (event) => {
    if (dialog.open) {
      if (event.key === 'ArrowLeft') step(-1);
      if (event.key === 'ArrowRight') step(1);
      return;
    }
    const typing = /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName ?? '');
    if (event.key === '/' && !typing && !event.ctrlKey && !event.metaKey) {
      event.preventDefault();
      search.focus();
    }
  });

  // ---- links to a prompt ----

  function follow() {
    const row = allRows.find((one) => `#${nameOf(one)}` === location.hash);
    if (row === undefined) return;
    if (!view.includes(row)) {
      Object.assign(state, start);
      search.value = '';
      refresh();
    }
    makeRows(view.indexOf(row) + 1 - made);
    const element = document.getElementById(nameOf(row));
    for (const other of body.querySelectorAll('.found')) other.classList.remove('found');
    element.classList.add('found');
    element.scrollIntoView({block: 'center'});
  }
  window.addEventListener('hashchange', follow);

  /** The first image's shape is that of all places, so that rows keep their height when images come. */
  async function begin() {
    const first = new Image();
    first.src = imageOf(0, 0);
    try {
      await first.decode();
      table.style.setProperty('--ratio', first.naturalWidth / first.naturalHeight);
    } catch {
      // It is missing or damaged, which its cell says.
    }
    refresh();
    follow();
  }
  begin();
})();
