import { readFile } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import Fastify, { type FastifyInstance } from 'fastify';
import { z } from 'zod';
import { packageRoot } from '../package-root.ts';
import { CAST } from './cast.ts';
import type { DemoWorld } from './demo-world.ts';
import { PageState } from './page-state.ts';

export interface DemoPage {
  readonly url: string;
  stop(): Promise<void>;
}

const FILES: Readonly<Record<string, string>> = {
  'index.html': 'text/html; charset=utf-8',
  'style.css': 'text/css; charset=utf-8',
  'chats.css': 'text/css; charset=utf-8',
  'seal.svg': 'image/svg+xml',
  'main.js': 'text/javascript; charset=utf-8',
  'element.js': 'text/javascript; charset=utf-8',
  'texts.js': 'text/javascript; charset=utf-8',
  'transcript.js': 'text/javascript; charset=utf-8',
  'feishu.js': 'text/javascript; charset=utf-8',
  'slack.js': 'text/javascript; charset=utf-8',
  'record.js': 'text/javascript; charset=utf-8',
};

const CONTENT_SECURITY_POLICY = "default-src 'self'; base-uri 'none'; frame-ancestors 'none'";

/** The page of the demo, on loopback: what is to be seen as server-sent events, what people do as small POSTs. */
export async function startDemoPage(input: {
  readonly world: DemoWorld;
  /** 0: any free one. Throws where it is taken. */
  readonly port: number;
  readonly model: string | null;
}): Promise<DemoPage> {
  const state = new PageState(input.world, input.model);
  const app = Fastify({ forceCloseConnections: true });
  onlyFromThisPage(app);
  for (const [name, type] of Object.entries(FILES)) {
    app.get(name === 'index.html' ? '/' : `/${name}`, async (_request, reply) =>
      reply
        .type(type)
        .header('content-security-policy', CONTENT_SECURITY_POLICY)
        .send(await readFile(join(packageRoot, 'src/demo/page', name))),
    );
  }
  app.get('/state', (request, reply) => {
    reply.hijack();
    reply.raw.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-store' });
    const end = state.watch((snapshot) => reply.raw.write(`data: ${snapshot}\n\n`));
    request.raw.once('close', end);
  });
  actions(app, input.world, state);
  try {
    await app.listen({ host: '127.0.0.1', port: input.port });
  } catch (error) {
    await state.stop();
    const taken = (error as NodeJS.ErrnoException).code === 'EADDRINUSE';
    throw taken ? new Error(`Port ${input.port} is taken; try --port 0 for any free one.`) : error;
  }
  const { port } = app.server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/`,
    async stop() {
      await state.stop();
      await app.close();
    },
  };
}

/** Another site that this browser has open must neither read the page nor act on it. */
function onlyFromThisPage(app: FastifyInstance): void {
  app.addHook('onRequest', async (request, reply) => {
    const { host = '', origin } = request.headers;
    const local = /^(127\.0\.0\.1|localhost):\d+$/.test(host);
    if (!local || (origin !== undefined && origin !== `http://${host}`)) await reply.code(403).send();
  });
}

const byPerson = { person: z.enum(CAST.map(({ id }) => id)) };
const ask = z.strictObject({ text: z.string().trim().min(1).max(2000) });
const feishuTap = z.strictObject({
  ...byPerson,
  message: z.string(),
  button: z.int().min(0),
  form: z.record(z.string(), z.string().max(2000)),
});
const slackTap = z.strictObject({ ...byPerson, ts: z.string(), action: z.string() });
const slackSubmit = z.strictObject({ ...byPerson, reason: z.string().max(5000) });
const slackClose = z.strictObject(byPerson);

function actions(app: FastifyInstance, { feishu, slack }: DemoWorld, state: PageState): void {
  const action = <Body>(
    path: string,
    body: z.ZodType<Body>,
    run: (input: Body) => unknown | Promise<unknown>,
  ) => {
    app.post(path, async (request, reply) => {
      const parsed = body.safeParse(request.body);
      if (!parsed.success) return reply.code(422).send({ error: z.prettifyError(parsed.error) });
      return { result: (await run(parsed.data)) ?? null };
    });
  };
  action('/ask', ask, ({ text }) => state.runs.start(text));
  action('/feishu/tap', feishuTap, ({ person, message, button, form }) =>
    feishu.tap({
      openId: personOf(person).feishuOpenId,
      messageId: message,
      element: button,
      formValue: form,
    }),
  );
  action('/slack/tap', slackTap, ({ person, ts, action: actionId }) =>
    slack.tap({ user: personOf(person).slackUser, ts, actionId }),
  );
  action('/slack/submit', slackSubmit, ({ person, reason }) =>
    slack.submitModal({ user: personOf(person).slackUser, reason }),
  );
  action('/slack/close', slackClose, ({ person }) => slack.closeModal(personOf(person).slackUser));
}

function personOf(id: string) {
  const person = CAST.find((candidate) => candidate.id === id);
  if (!person) throw new Error(`Nobody here is called ${id}`);
  return person;
}
