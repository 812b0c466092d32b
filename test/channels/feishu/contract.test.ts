import { channelContract } from '../channel-contract.ts';
import { startFeishuRig } from './feishu-rig.ts';

channelContract({ name: 'Feishu', wayIn: 'webhook', start: startFeishuRig });
