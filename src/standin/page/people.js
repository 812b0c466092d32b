import { element } from './element.js';

/** One of those as whom to tap, for `showItems`. */
export const personItem = ({ id, face, name, note, chosen, choose }) => ({
  key: id,
  version: JSON.stringify([face, name, note, chosen]),
  draw: () =>
    element(
      'button',
      {
        type: 'button',
        id: `person-${id}`,
        class: 'person',
        role: 'radio',
        'aria-checked': String(chosen),
        'data-person': id,
        click: choose,
      },
      element('span', { class: 'face', 'aria-hidden': 'true' }, face),
      element('span', {}, element('strong', {}, name), element('small', {}, note)),
    ),
});
