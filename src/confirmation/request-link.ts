import type { ConfirmationId } from '../ids.ts';

/** The page that shows one request in full. `publicUrl` has no trailing slash. */
export const requestLink = (publicUrl: string, id: ConfirmationId): string => `${publicUrl}/requests/${id}`;
