/**
 * An element with properties and children. Text, whoever wrote it, only ever becomes a text node: nothing here takes
 * markup. `class`, `data-*`, `aria-*` and `role` become attributes, functions become listeners, null is left out.
 */
export function element(tag, properties = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (value === null || value === undefined || value === false) continue;
    if (typeof value === 'function') node.addEventListener(name, value);
    else if (name === 'class' || name === 'role' || /^(data|aria)-/.test(name))
      node.setAttribute(name, value);
    else node[name] = value;
  }
  node.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined));
  return node;
}

/** A link to another page, or plain text where the address is no web address. */
export function link(url, properties, ...children) {
  if (!/^https?:\/\//.test(url)) return element('span', properties, ...children);
  return element(
    'a',
    { ...properties, href: url, target: '_blank', rel: 'noopener noreferrer' },
    ...children,
  );
}

const drawn = new WeakMap();

/**
 * Brings the children of `container` to `items` (`{key, version, draw}`), redrawing only those whose version changed,
 * so that what somebody is typing stays. With `follow`, goes on to the newest item while the reader was at the end.
 */
export function showItems(container, items, { follow = false } = {}) {
  const before = drawn.get(container) ?? new Map();
  const after = new Map();
  const { scrollTop } = container;
  const wasAtEnd = container.scrollHeight - container.scrollTop - container.clientHeight < 80;
  let changed = before.size !== items.length;
  for (const { key, version, draw } of items) {
    const old = before.get(key);
    if (old && old.version === version) {
      after.set(key, old);
      continue;
    }
    changed = true;
    const node = draw();
    if (old) keepTyped(old.node, node);
    after.set(key, { version, node });
  }
  if (!changed) return;
  drawn.set(container, after);
  const focused = document.activeElement?.id;
  container.replaceChildren(...[...after.values()].map(({ node }) => node));
  if (focused && document.activeElement?.id !== focused) document.getElementById(focused)?.focus();
  container.scrollTop = follow && wasAtEnd ? container.scrollHeight : scrollTop;
}

function keepTyped(from, to) {
  for (const field of from.querySelectorAll('textarea, input')) {
    const same = to.querySelector(`[name="${CSS.escape(field.name)}"]`);
    if (same) same.value = field.value;
  }
}

/** `15:04:05` of a time as the service writes it, or of milliseconds: in the page's time zone, else the reader's. */
export const clockTime = (time, withSeconds = true) =>
  new Intl.DateTimeFormat('en-GB', {
    timeStyle: withSeconds ? 'medium' : 'short',
    timeZone: document.documentElement.dataset.timeZone,
  }).format(new Date(time));
