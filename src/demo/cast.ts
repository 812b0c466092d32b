import type { LocalizedText } from '../locale.ts';

/** Somebody in the demo, with the same person's accounts in both chats. */
export interface DemoPerson {
  readonly id: string;
  readonly name: string;
  /** For readers who do not read Chinese names. */
  readonly latinName: string;
  readonly title: LocalizedText;
  readonly groups: readonly string[];
  /** `operator`: may freeze tools. */
  readonly roles: readonly string[];
  readonly slackUser: string;
  readonly feishuOpenId: string;
}

export const LI_WEI: DemoPerson = {
  id: 'li.wei',
  name: '李伟',
  latinName: 'Li Wei',
  title: { 'zh-CN': '财务，可审批', 'en-US': 'finance, may approve' },
  groups: ['finance'],
  roles: ['operator'],
  slackUser: 'U0LIWEI',
  feishuOpenId: 'ou_liwei',
};

export const WANG_FANG: DemoPerson = {
  id: 'wang.fang',
  name: '王芳',
  latinName: 'Wang Fang',
  title: { 'zh-CN': '财务，可审批', 'en-US': 'finance, may approve' },
  groups: ['finance'],
  roles: [],
  slackUser: 'U0WANG',
  feishuOpenId: 'ou_wang',
};

/** The agent's owner: every payment is asked for in her name. */
export const ZHAO_MIN: DemoPerson = {
  id: 'zhao.min',
  name: '赵敏',
  latinName: 'Zhao Min',
  title: { 'zh-CN': '采购，付款由她发起', 'en-US': 'purchasing, asks for it' },
  groups: [],
  roles: [],
  slackUser: 'U0ZHAO',
  feishuOpenId: 'ou_zhao',
};

/** Known to the service and a member of both chats, and yet nobody who may approve. */
export const CHEN_JIE: DemoPerson = {
  id: 'chen.jie',
  name: '陈杰',
  latinName: 'Chen Jie',
  title: { 'zh-CN': '市场，不是审批人', 'en-US': 'marketing, no approver' },
  groups: [],
  roles: [],
  slackUser: 'U0CHEN',
  feishuOpenId: 'ou_chen',
};

export const CAST: readonly DemoPerson[] = [LI_WEI, WANG_FANG, ZHAO_MIN, CHEN_JIE];
export const FEISHU_OPEN_IDS: readonly string[] = CAST.map(({ feishuOpenId }) => feishuOpenId);
export const SLACK_USERS: readonly string[] = CAST.map(({ slackUser }) => slackUser);

export const SLACK_WORKSPACE = { team: 'T0ACME', appId: 'A0COUNTERSIGN', channel: 'C0FINANCE' } as const;
export const FEISHU_TENANT = {
  tenant: '2f0acme',
  appId: 'cli_a1b2c3d4e5f60718',
  chat: 'oc_finance',
} as const;

/** Whose payments have a deadline of seconds, so that an expiry can be watched. */
export const HASTY_PAYEE = 'Night Owl Couriers';
