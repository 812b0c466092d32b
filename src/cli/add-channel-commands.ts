import { type Command, InvalidArgumentError } from 'commander';
import { CONFIG_OPTION } from './config-option.ts';

/** `channels manifest`, `channels test` and `standin`: what setting a chat up takes. */
export function addChannelCommands(program: Command): void {
  const channels = program.command('channels').description('the chats in which people are asked');

  channels
    .command('manifest')
    .description('print what the platform’s console makes a ready app from')
    .argument('<kind>', 'slack')
    .option('--name <name>', 'the name of the app', 'Countersign')
    .option('--url <url>', 'publicUrl of the service; without it the app connects by itself (Socket Mode)')
    .option('--channel <id>', 'id of the channel in the configuration', 'pay-slack')
    .action(async (kind: string, options: { name: string; url?: string; channel: string }) => {
      const { channelManifest } = await import('./channel-manifest.ts');
      process.exitCode = channelManifest({ kind, url: null, ...options });
    });

  channels
    .command('test')
    .description('send a real approval card, wait for somebody to tap it, and report the round trip')
    .argument('<channel>', 'id of the channel in the configuration')
    .option('--timeout <seconds>', 'how long to wait for the tap, 5 to 3600', wholeNumber(5, 3_600), 300)
    .option(...CONFIG_OPTION)
    .action(async (channel: string, { config, timeout }: { config: string; timeout: number }) => {
      const { channelTest } = await import('./channel-test.ts');
      process.exitCode = await channelTest({ configFile: config, channel, timeoutMs: timeout * 1000 });
    });

  program
    .command('standin')
    .description('play a chat platform on loopback, to try a configuration without an account')
    .argument('<platform>', 'slack or feishu')
    .option(
      '--mode <mode>',
      'of the channel: http or socket; webhook or long-connection (default: the first)',
    )
    .option('--port <port>', 'port on 127.0.0.1; 0 is any free port', wholeNumber(0, 65_535), 0)
    .option('--service <url>', 'where the service listens', serviceUrl, 'http://127.0.0.1:8787')
    .option('--minutes <minutes>', 'ends by itself after this long, 1 to 1440', wholeNumber(1, 1_440), 60)
    .action(
      async (
        platform: string,
        options: { mode?: string; port: number; service: string; minutes: number },
      ) => {
        const { standin } = await import('./standin.ts');
        process.exitCode = await standin({ platform, ...options });
      },
    );
}

/** The address itself, without paths: the platform calls the channel's own one on it. */
const serviceUrl = (text: string): string => {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url !== null && /^https?:$/.test(url.protocol) && url.href === `${url.origin}/`) return url.origin;
  throw new InvalidArgumentError('It has to be where the service listens, like http://127.0.0.1:8787.');
};

const wholeNumber =
  (least: number, most: number) =>
  (text: string): number => {
    const value = /^\d{1,6}$/.test(text) ? Number(text) : Number.NaN;
    if (value >= least && value <= most) return value;
    throw new InvalidArgumentError(`It has to be a whole number from ${least} to ${most}.`);
  };
