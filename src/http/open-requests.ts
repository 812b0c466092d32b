import type { FastifyReply } from 'fastify';
import type { HttpApp } from './http-app.ts';

/** Gives each long answer (a wait, an event stream) the signal that ends it. */
export interface OpenRequests {
  /** Aborts when the client has gone, or when the service starts to stop: then waits answer with what they know. */
  signalOf(reply: FastifyReply): AbortSignal;
}

export function createOpenRequests(app: HttpApp): OpenRequests {
  const open = new Set<AbortController>();
  let stopping = false;
  app.addHook('preClose', async () => {
    stopping = true;
    for (const controller of open) controller.abort();
  });
  return {
    signalOf(reply) {
      const controller = new AbortController();
      open.add(controller);
      reply.raw.once('close', () => {
        open.delete(controller);
        controller.abort();
      });
      if (stopping || reply.raw.destroyed) controller.abort();
      return controller.signal;
    },
  };
}
