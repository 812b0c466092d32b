const TOAST_MS = 6000;

/** Shows `{type, text}` in `node` for a while; null shows nothing. */
export function createToast(node) {
  let timer = null;
  return (notice) => {
    if (notice === null) return;
    node.textContent = notice.text;
    node.dataset.type = notice.type;
    node.hidden = false;
    clearTimeout(timer);
    timer = setTimeout(() => {
      node.hidden = true;
    }, TOAST_MS);
  };
}
