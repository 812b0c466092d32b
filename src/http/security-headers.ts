import helmet from '@fastify/helmet';
import type { HttpApp } from './http-app.ts';

/** Headers for answers that no browser should do anything with; pages loosen exactly what they need. */
export function installSecurityHeaders(app: HttpApp, { https }: { readonly https: boolean }): void {
  app.register(helmet, {
    contentSecurityPolicy: {
      useDefaults: false,
      directives: { defaultSrc: ["'none'"], frameAncestors: ["'none'"], baseUri: ["'none'"] },
    },
    referrerPolicy: { policy: 'same-origin' },
    // Over plain HTTP (loopback, a demo) the header would be ignored; behind TLS a downgrade must not work.
    strictTransportSecurity: https ? { maxAge: 31_536_000 } : false,
    xFrameOptions: { action: 'deny' },
  });
}
