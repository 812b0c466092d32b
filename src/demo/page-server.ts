import { z } from 'zod';
import { packageRoot } from '../package-root.ts';
import { addFeishuActions } from '../standin/page/drawn-feishu.ts';
import { addSlackActions } from '../standin/page/drawn-slack.ts';
import { createPageApp } from '../standin/page/page-app.ts';
import { FEISHU_OPEN_IDS, SLACK_USERS } from './cast.ts';
import type { DemoWorld } from './demo-world.ts';
import { PageState } from './page-state.ts';

export interface DemoPage {
  readonly url: string;
  stop(): Promise<void>;
}

const FILES = ['index.html', 'style.css', 'main.js', 'texts.js', 'transcript.js', 'record.js'];

const ask = z.strictObject({ text: z.string().trim().min(1).max(2000) });

/** The page of the demo, on loopback: what is to be seen as server-sent events, what people do as small POSTs. */
export async function startDemoPage(input: {
  readonly world: DemoWorld;
  /** 0: any free one. Throws where it is taken. */
  readonly port: number;
  readonly model: string | null;
}): Promise<DemoPage> {
  const { feishu, slack } = input.world;
  const state = new PageState(input.world, input.model);
  const page = createPageApp({ packageRoot, watch: (watcher) => state.watch(watcher) });
  page.files({ prefix: '/', folder: 'src/demo/page', names: FILES });
  page.action('/ask', ask, ({ text }) => state.runs.start(text));
  addFeishuActions(page, feishu, FEISHU_OPEN_IDS);
  addSlackActions(page, slack, SLACK_USERS);
  try {
    const url = await page.listen(input.port);
    return {
      url,
      async stop() {
        await state.stop();
        await page.stop();
      },
    };
  } catch (error) {
    await state.stop();
    const taken = (error as NodeJS.ErrnoException).code === 'EADDRINUSE';
    throw taken ? new Error(`Port ${input.port} is taken; try --port 0 for any free one.`) : error;
  }
}
