// Controls are the buttons and fields above the graph. They report input by calling onView(values), onFlip(isIcicle),
// onSearch(text), onShows(what) and onReset().
class Controls {
  constructor(profile, root) {
    this.root = root;
    this.search = root.querySelector('#search');
    this.#showMode('mode', MODE.waker, profile.hasWakes);
    for (const option of root.querySelector('#by').options) option.hidden = !rootsOf(profile).includes(Number(option.value));
    root.querySelector('#modes').addEventListener('change', (event) => this.onView({mode: Number(event.target.value)}));
    root.querySelector('#shows').addEventListener('change', (event) => this.onShows(event.target.value));
    this.#on('#by', (field) => this.onView({by: Number(field.value)}));
    this.#on('#states', (field) => this.onView({states: field.checked}));
    this.#on('#idle', (field) => this.onView({idle: field.checked}));
    this.#on('#fold', (field) => this.onView({fold: field.checked}));
    this.#on('#reverse', (field) => this.onView({reverse: field.checked}));
    this.#on('#icicle', (field) => this.onFlip(field.checked));
    this.search.addEventListener('input', () => this.onSearch(this.search.value));
    root.querySelector('#reset').addEventListener('click', () => this.onReset());
  }

  #showMode(name, value, isShown) {
    this.root.querySelector(`[name=${name}][value="${value}"]`).closest('label').hidden = !isShown;
  }

  #on(selector, change) {
    const field = this.root.querySelector(selector);
    field.addEventListener('change', () => change(field));
  }

  show(view, isIcicle, shows) {
    this.root.querySelector(`[name=shows][value="${shows}"]`).checked = true;
    this.root.querySelector(`[name=mode][value="${view.mode}"]`).checked = true;
    this.root.querySelector('#by').value = view.by;
    this.root.querySelector('#states').checked = view.states;
    this.root.querySelector('#idle').checked = view.idle;
    this.root.querySelector('#fold').checked = view.fold;
    this.root.querySelector('#fold').disabled = !view.idle;
    this.root.querySelector('#reverse').checked = view.reverse;
    this.root.querySelector('#icicle').checked = isIcicle;
  }
}
