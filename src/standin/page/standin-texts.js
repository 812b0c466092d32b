import { CHAT_TEXTS } from '/chat/chat-texts.js';

const FAULTS = {
  'en-US': {
    429: '429: wait 5 seconds',
    500: '500',
    'no-answer': 'done, never answered',
    'bad-token': 'token refused',
  },
  'zh-CN': {
    429: '429：请等 5 秒',
    500: '500',
    'no-answer': '已执行，不应答',
    'bad-token': '拒收凭证',
  },
};

/** Every word of the page of a stand-in. */
export const TEXTS = {
  'en-US': {
    ...CHAT_TEXTS['en-US'],
    platforms: { feishu: 'Feishu', slack: 'Slack' },
    title: (platform) => `${platform}, played by Countersign`,
    tagline: 'No account, no company: everything is on this machine and forgotten at the end.',
    disconnected: 'the stand-in has stopped',
    group: 'Approvals',
    groupHint: 'everybody is in it, and the app',
    direct: (name) => `Countersign → ${name}`,
    directHint: 'direct message, for this person alone',
    emptyDirect: 'Nothing was written to this person alone.',
    faultsTitle: 'What goes wrong next',
    callLabel: 'With',
    anyCall: 'the next call',
    kinds: FAULTS['en-US'],
    cut: 'Break the connections',
    wasCut: (count) => `${count} connections were broken; the service opens others.`,
    noFaults: 'Nothing is lined up: every call is answered as the platform would.',
    waits: (call, fault) => `${call}: ${fault}`,
    met: (call, fault) => `${call} met it: ${fault}`,
  },
  'zh-CN': {
    ...CHAT_TEXTS['zh-CN'],
    platforms: { feishu: '飞书', slack: 'Slack' },
    title: (platform) => `${platform}（由 Countersign 扮演）`,
    tagline: '不需要账号，也不需要企业：一切都在本机，结束后不保留。',
    disconnected: '替身已停止',
    group: '审批群',
    groupHint: '所有人和应用都在群里',
    direct: (name) => `Countersign → ${name}`,
    directHint: '单聊，只有此人可见',
    emptyDirect: '没有单独发给此人的消息。',
    faultsTitle: '接下来出什么故障',
    callLabel: '对象',
    anyCall: '下一次调用',
    kinds: FAULTS['zh-CN'],
    cut: '断开连接',
    wasCut: (count) => `已断开 ${count} 条连接；服务会重新连接。`,
    noFaults: '没有安排故障：每次调用都照平台的方式应答。',
    waits: (call, fault) => `${call}：${fault}`,
    met: (call, fault) => `${call} 已遇到：${fault}`,
  },
};
