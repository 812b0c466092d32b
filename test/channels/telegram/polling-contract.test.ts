import { channelContract } from '../channel-contract.ts';
import { startTelegramPollingRig, TELEGRAM_LACKS } from './contract-rig.ts';

channelContract({
  name: 'Telegram by polling',
  wayIn: 'connection',
  faults: [
    'another process asks',
    'the token is not taken for a moment',
    'the network breaks',
    'nothing goes through any more',
    'the platform lets nobody in for a while',
  ],
  lacks: {
    ...TELEGRAM_LACKS,
    'several connections': 'Telegram ends the questions of one process when another asks',
  },
  start: startTelegramPollingRig,
});
