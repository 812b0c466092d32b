import { readFile } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import { extname, join } from 'node:path';
import Fastify, { type FastifyInstance } from 'fastify';
import { z } from 'zod';

/** The server of a page with drawn chats. */
export interface PageApp {
  /** Serves these files of the folder, each under `prefix` and its name; `index.html` as `prefix` itself. */
  files(input: { readonly prefix: string; readonly folder: string; readonly names: readonly string[] }): void;
  /** A POST of this JSON; answered with `{result}`, or with 422 where the body is another. */
  action<Body>(path: string, body: z.ZodType<Body>, run: (input: Body) => unknown): void;
  /** Returns the page's address. Throws where the port is taken; 0 is any free one. */
  listen(port: number): Promise<string>;
  stop(): Promise<void>;
}

/** Draws and styles the chats: every page serves them under `/chat/`. */
const CHAT_FILES = [
  ...['base.css', 'chats.css', 'seal.svg'],
  ...['chat-actions.js', 'chat-texts.js', 'element.js', 'feishu.js', 'people.js', 'post.js', 'slack.js'],
  'toast.js',
];

/** Below the package's root; also where the stand-ins' own page lies. */
export const CHAT_FOLDER = 'src/standin/page';

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
};

const HEADERS = {
  'content-security-policy': "default-src 'self'; base-uri 'none'; frame-ancestors 'none'",
  'x-content-type-options': 'nosniff',
  'cache-control': 'no-store',
};

/**
 * A page on 127.0.0.1 for this machine's browser alone: no other site may read it or act on it. What is to be seen
 * goes out at `/state` as server-sent events, one for each snapshot that `watch` hands on.
 */
export function createPageApp(input: {
  readonly packageRoot: string;
  readonly watch: (watcher: (snapshot: string) => void) => () => void;
}): PageApp {
  const app = Fastify({ forceCloseConnections: true });
  onlyFromThisPage(app);
  app.get('/state', (request, reply) => {
    reply.hijack();
    reply.raw.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-store' });
    const end = input.watch((snapshot) => reply.raw.write(`data: ${snapshot}\n\n`));
    request.raw.once('close', end);
  });
  const page: PageApp = {
    files({ prefix, folder, names }) {
      for (const name of names) {
        app.get(`${prefix}${name === 'index.html' ? '' : name}`, async (_request, reply) =>
          reply
            .type(TYPES[extname(name)] ?? 'application/octet-stream')
            .headers(HEADERS)
            .send(await readFile(join(input.packageRoot, folder, name))),
        );
      }
    },
    action(path, body, run) {
      app.post(path, async (request, reply) => {
        const parsed = body.safeParse(request.body);
        if (!parsed.success) return reply.code(422).send({ error: z.prettifyError(parsed.error) });
        return { result: (await run(parsed.data)) ?? null };
      });
    },
    async listen(port) {
      await app.listen({ host: '127.0.0.1', port });
      return `http://127.0.0.1:${(app.server.address() as AddressInfo).port}/`;
    },
    stop: () => app.close(),
  };
  page.files({ prefix: '/chat/', folder: CHAT_FOLDER, names: CHAT_FILES });
  return page;
}

/** Another site that this browser has open must neither read the page nor act on it. */
function onlyFromThisPage(app: FastifyInstance): void {
  app.addHook('onRequest', async (request, reply) => {
    const { host = '', origin } = request.headers;
    const local = /^(127\.0\.0\.1|localhost):\d+$/.test(host);
    if (!local || (origin !== undefined && origin !== `http://${host}`)) await reply.code(403).send();
  });
}
