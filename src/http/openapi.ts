import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import swagger from '@fastify/swagger';
import swaggerUi from '@fastify/swagger-ui';
import { jsonSchemaTransform } from 'fastify-type-provider-zod';
import { packageRoot } from '../package-root.ts';
import type { HttpApp } from './http-app.ts';

/** Collects the description of every route that is registered after this call. */
export function installOpenApi(app: HttpApp): void {
  app.register(swagger, {
    openapi: {
      openapi: '3.1.0',
      info: {
        title: 'Countersign',
        version: packageVersion(),
        description: 'No sensitive tool call runs until the right person has approved exactly that call.',
        license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
      },
      components: {
        securitySchemes: {
          key: { type: 'http', scheme: 'bearer', description: "An API key, or a person's own key." },
        },
      },
      tags: [
        { name: 'confirmations', description: 'Questions to people, and their answers.' },
        { name: 'runs', description: 'Agents and plans at work.' },
        { name: 'audit', description: 'The record.' },
        { name: 'operations', description: 'For those who run the service.' },
        { name: 'channels', description: 'For the chat platforms.' },
      ],
    },
    transform: jsonSchemaTransform,
  });
}

/** `/openapi.json`, and a page at `/docs` that shows it. Register last. */
export function openApiRoutes(app: HttpApp): void {
  app.get('/openapi.json', { schema: { hide: true } }, async (_request, reply) =>
    reply.type('application/json; charset=utf-8').send(JSON.stringify(app.swagger())),
  );
  app.register(swaggerUi, {
    routePrefix: '/docs',
    logo: { type: 'image/svg+xml', content: LOGO },
    staticCSP: {
      'default-src': "'none'",
      'script-src': "'self'",
      // The page styles its elements in place; it shows nothing but our own description.
      'style-src': "'self' 'unsafe-inline'",
      'img-src': "'self' data:",
      'font-src': "'self'",
      'connect-src': "'self'",
      'base-uri': "'none'",
      'form-action': "'none'",
      'frame-ancestors': "'none'",
    },
  });
}

const LOGO =
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 150 40"><text y="28" font-family="sans-serif" font-size="24" fill="#fff">Countersign</text></svg>';

function packageVersion(): string {
  const manifest: unknown = JSON.parse(readFileSync(join(packageRoot, 'package.json'), 'utf8'));
  const found = typeof manifest === 'object' && manifest !== null && 'version' in manifest;
  return found ? String(manifest.version) : 'unknown';
}
