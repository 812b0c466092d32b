import { once } from 'node:events';
import type { Locale } from '../locale.ts';
import { playAutoStory } from './auto-story.ts';
import { LI_WEI } from './cast.ts';
import { type DemoWorld, type RealModel, startDemoWorld } from './demo-world.ts';
import { startDemoPage } from './page-server.ts';

/**
 * `countersign demo`: everything on loopback. With `auto`, plays the whole story, prints it and returns 0 only when
 * each part came out right; otherwise serves one page on `port` (0: any free one) until SIGINT or SIGTERM.
 */
export async function demo(input: { readonly auto: boolean; readonly port: number }): Promise<number> {
  const locale = demoLocale(process.env);
  const interrupted = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => interrupted.abort());
  console.log('Starting the service, both chats, the agent and the payment system …');
  const world = input.auto
    ? // The story needs the script: another model's words would be others each time.
      await startDemoWorld({ locale, hastyDeadline: '5s', realModel: null })
    : await startDemoWorld({ locale, hastyDeadline: '30s', realModel: realModelOf(process.env) });
  try {
    return input.auto
      ? await playAutoStory({ world, interrupted: interrupted.signal, print: console.log })
      : await servePage(world, input.port, interrupted.signal);
  } finally {
    await world.stop();
  }
}

async function servePage(world: DemoWorld, port: number, interrupted: AbortSignal): Promise<number> {
  const model = realModelOf(process.env)?.model ?? null;
  const page = await startDemoPage({ world, port, model });
  const { serviceUrl, secrets } = world;
  console.log(`\n  Countersign demo: ${page.url}\n`);
  console.log('  To ask from an agent of your own (README, "An agent of your own"):\n');
  const variables = {
    GATE: serviceUrl,
    PROCUREMENT_KEY: secrets.PROCUREMENT_KEY,
    LIWEI_KEY: secrets.consoleKeys.get(LI_WEI.id),
  };
  for (const [name, value] of Object.entries(variables)) console.log(`export ${name}=${value}`);
  console.log('\n  Stop with Ctrl-C; all data is in a temporary folder.');
  if (!interrupted.aborted) await once(interrupted, 'abort');
  console.log('\nStopping …');
  await page.stop();
  return 0;
}

/** `DEMO_LOCALE`, else the terminal's language: cards and pages are in it. */
function demoLocale({ DEMO_LOCALE, LC_ALL, LANG }: NodeJS.ProcessEnv): Locale {
  const wanted = DEMO_LOCALE || LC_ALL || LANG || '';
  return wanted.startsWith('zh') ? 'zh-CN' : 'en-US';
}

/** The three variables of the OpenAI convention; one missing means the script. */
function realModelOf({ OPENAI_BASE_URL, OPENAI_API_KEY, MODEL }: NodeJS.ProcessEnv): RealModel | null {
  return OPENAI_BASE_URL && OPENAI_API_KEY && MODEL
    ? { baseUrl: OPENAI_BASE_URL, apiKey: OPENAI_API_KEY, model: MODEL }
    : null;
}
