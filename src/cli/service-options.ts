import type { Locale } from '../locale.ts';
import type { ServiceAddress } from './call-api.ts';

/** Options of commands that speak to a running service. A key on the command line is seen by whoever lists processes. */
export const URL_OPTION = [
  '--url <url>',
  'the running service; default: COUNTERSIGN_URL, or the local one',
] as const;
export const KEY_OPTION = ['--key <key>', 'your own key; better: COUNTERSIGN_KEY'] as const;

const LOCAL = 'http://127.0.0.1:8787';

/** Where the service is and who asks; throws a sentence for the operator where no key is given. */
export function serviceOf(options: {
  readonly url?: string;
  readonly key?: string;
  readonly environment: Readonly<Record<string, string | undefined>>;
}): ServiceAddress & { readonly locale: Locale } {
  const { environment } = options;
  const locale = localeOf(environment);
  const key = options.key ?? environment.COUNTERSIGN_KEY ?? '';
  if (key === '') throw new Error(NO_KEY[locale]);
  return { url: options.url ?? (environment.COUNTERSIGN_URL || LOCAL), key, locale };
}

/** No configuration is read here, so the terminal says which language. */
function localeOf({ LC_ALL, LC_MESSAGES, LANG }: Readonly<Record<string, string | undefined>>): Locale {
  return (LC_ALL || LC_MESSAGES || LANG || '').startsWith('zh') ? 'zh-CN' : 'en-US';
}

const NO_KEY: Readonly<Record<Locale, string>> = {
  'zh-CN': '没有密钥：请把你自己的密钥放在 COUNTERSIGN_KEY 里，或用 --key。',
  'en-US': 'There is no key: put your own into COUNTERSIGN_KEY, or give it with --key.',
};
