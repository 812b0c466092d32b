import { channelContract } from '../channel-contract.ts';
import { startFeishuConnectionRig } from './feishu-rig.ts';

channelContract({
  name: 'Feishu over long connections',
  wayIn: 'connection',
  faults: [
    'the platform ends them',
    'the network breaks',
    'the platform is busy',
    'the platform lets nobody in for a while',
    'upgrades are refused',
    'upgrades are not answered',
  ],
  start: startFeishuConnectionRig,
});
