import { channelContract } from '../channel-contract.ts';
import { startSlackRig } from './slack-rig.ts';

channelContract({ name: 'Slack', wayIn: 'webhook', start: startSlackRig });
