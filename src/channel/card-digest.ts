import { createHash } from 'node:crypto';
import type { RenderedCard } from './card.ts';

/** `sha256:` + hex over the payload exactly as it goes to the platform. */
export const cardDigest = (rendered: RenderedCard): string =>
  `sha256:${createHash('sha256').update(rendered.payload, 'utf8').digest('hex')}`;
