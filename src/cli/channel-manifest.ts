import { id } from '../config/settings.ts';
import { CHANNEL_KINDS } from '../main.ts';

/** `countersign channels manifest <kind>`: on standard output, for the platform's console. */
export function channelManifest(input: {
  readonly kind: string;
  readonly name: string;
  /** Base of the service's addresses; null: the app connects by itself. */
  readonly url: string | null;
  /** The channel's id in the configuration, which its callback address holds. */
  readonly channel: string;
}): number {
  const { kind, name, url, channel } = input;
  const known = CHANNEL_KINDS.find((candidate) => candidate.kind === kind);
  if (!known?.manifest) {
    const able = CHANNEL_KINDS.flatMap((candidate) => (candidate.manifest ? [candidate.kind] : []));
    console.error(
      `There is no manifest for ${kind}; there is one for: ${able.join(', ')}. See docs/${kind}.md.`,
    );
    return 1;
  }
  if (url !== null && !isBaseAddress(url)) {
    console.error(
      '--url has to be an https:// address without a query: the platform sends taps nowhere else.',
    );
    return 1;
  }
  if (!id.safeParse(channel).success) {
    console.error('--channel has to be the id of a channel as the configuration has it, like pay-slack.');
    return 1;
  }
  if (name.trim() === '' || name.length > LONGEST_NAME) {
    console.error(`--name has to be 1 to ${LONGEST_NAME} characters: the platform takes no other.`);
    return 1;
  }
  const callbackUrl = url === null ? null : `${url.replace(/\/+$/, '')}/channels/${channel}/callback`;
  console.log(known.manifest({ name, callbackUrl }));
  return 0;
}

/** Of a Slack app (docs.slack.dev, "App manifest reference"). */
const LONGEST_NAME = 35;

const isBaseAddress = (url: string): boolean =>
  URL.canParse(url) && new URL(url).protocol === 'https:' && !/[?#]/.test(url);
