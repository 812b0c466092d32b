import { channelContract } from '../channel-contract.ts';
import { startSlackSocketRig } from './slack-rig.ts';

channelContract({
  name: 'Slack over sockets',
  wayIn: 'connection',
  faults: [
    'the platform ends them',
    'the network breaks',
    'nothing goes through any more',
    'the platform asks for new ones',
    'there are too many',
    'the app may not connect',
    'the platform lets nobody in for a while',
    'upgrades are refused',
    'nobody says hello',
  ],
  start: startSlackSocketRig,
});
