import { z } from 'zod';
import { FAULT_KINDS, type LinedUpFaults } from '../lined-up-faults.ts';
import { CHAT_FOLDER, createPageApp, type PageApp } from './page-app.ts';
import { WatchedState } from './watched-state.ts';

/** A platform as its page shows it. */
export interface DrawnPlatform {
  readonly platform: 'slack' | 'feishu';
  /** As whom one can tap, by their accounts. */
  readonly people: readonly { readonly id: string; readonly name: string }[];
  /** The chats, for the page's drawing code of this platform. */
  chats(): unknown;
  addActions(page: PageApp): void;
  readonly faults: LinedUpFaults;
  /** Breaks the service's connections; how many there were. Null where it calls over HTTP. */
  readonly cut: (() => number) | null;
  onChange(listener: () => void): () => void;
}

/** The chats of a stand-in on a page of its own, on any free port of 127.0.0.1: to be seen, tapped and disturbed. */
export async function startStandinPage(
  { platform, people, chats, addActions, faults, cut, onChange }: DrawnPlatform,
  packageRoot: string,
): Promise<{ readonly url: string; stop(): Promise<void> }> {
  const state = new WatchedState(() => ({
    ...{ platform, people, chats: chats(), canCut: cut !== null },
    faults: { kinds: FAULT_KINDS, calls: faults.calls, waiting: faults.waiting(), met: faults.met() },
  }));
  const page = createPageApp({ packageRoot, watch: (watcher) => state.watch(watcher) });
  page.files({
    ...{ prefix: '/', folder: CHAT_FOLDER },
    names: ['index.html', 'standin.css', 'standin.js', 'standin-texts.js'],
  });
  addActions(page);
  const fault = z.strictObject({ kind: z.enum(FAULT_KINDS), call: z.enum(faults.calls).nullable() });
  page.action('/fault', fault, (wanted) => faults.add(wanted));
  page.action('/cut', z.strictObject({}), () => cut?.() ?? 0);
  const unsubscribe = [onChange(() => state.changed()), faults.onChange(() => state.changed())];
  const url = await page.listen(0);
  return {
    url,
    async stop() {
      for (const end of unsubscribe) end();
      state.stop();
      await page.stop();
    },
  };
}
