import { channelContract } from '../channel-contract.ts';
import { startTelegramWebhookRig, TELEGRAM_LACKS } from './contract-rig.ts';

channelContract({
  name: 'Telegram',
  wayIn: 'webhook',
  lacks: TELEGRAM_LACKS,
  start: startTelegramWebhookRig,
});
