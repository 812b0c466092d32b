import type { Writable } from 'node:stream';

/**
 * Lets a command come to its end where nobody reads what it prints any more (`doctor | head`): its words are lost, its
 * work and its exit code are not. Any other fault of the stream is thrown, as without a listener.
 */
export function bearClosedPipe(output: Writable): void {
  output.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error;
  });
}
