import { channelContract } from '../channel-contract.ts';
import { startFeishuRig } from './feishu-rig.ts';

channelContract({ name: 'Feishu', start: startFeishuRig });
