import type { Locale } from '../locale.ts';

interface TestTexts {
  readonly noChannel: (channel: string, known: string) => string;
  readonly nobody: (channel: string) => string;
  readonly portTaken: (port: number) => string;
  /** On the card. */
  readonly purpose: string;
  readonly summary: string;
  readonly sent: (afterMs: number) => string;
  readonly notSent: string;
  readonly noTap: string;
  readonly interrupted: string;
  readonly tapped: (status: string, afterMs: number) => string;
  readonly updated: (afterMs: number) => string;
  readonly notUpdated: string;
}

const seconds = (ms: number): string => (ms / 1000).toFixed(1);

/** What `channels test` says, on the terminal and on its card. */
export const TEST_TEXTS: Readonly<Record<Locale, TestTexts>> = {
  'zh-CN': {
    noChannel: (channel, known) => `配置中没有渠道 ${channel}，现有：${known}`,
    nobody: (channel) => `people 中没有人在渠道 ${channel} 有账号：请先填写他们的账号。`,
    portTaken: (port) => `端口 ${port} 已被占用：点击必须到达这里，请先停止正在运行的服务。`,
    purpose: '测试渠道，不会执行任何操作',
    summary: '这是一张测试卡片，批准或拒绝都可以。',
    sent: (afterMs) => `✓ 卡片 ${seconds(afterMs)} 秒后送达，请在聊天中点击。`,
    notSent: '✗ 卡片未送达：',
    noTap: '✗ 没有收到点击。运行 countersign doctor 检查回调地址；有账号的人才能点击。卡片已关闭。',
    interrupted: '✗ 已中断，没有等到点击。卡片已关闭。',
    tapped: (status, afterMs) =>
      `✓ ${seconds(afterMs)} 秒后收到点击：${status === 'approved' ? '批准' : '拒绝'}。`,
    updated: (afterMs) => `✓ 卡片在 ${seconds(afterMs)} 秒内显示了结果。`,
    notUpdated: '✗ 卡片没有及时显示结果。',
  },
  'en-US': {
    noChannel: (channel, known) => `There is no channel ${channel}; there are: ${known}`,
    nobody: (channel) =>
      `Nobody in \`people\` has an account in the channel ${channel}: enter their accounts first.`,
    portTaken: (port) =>
      `Port ${port} is taken: taps have to arrive there, so stop the running service first.`,
    purpose: 'a test of the channel; nothing will run',
    summary: 'This is a test card. Approve or reject, as you like.',
    sent: (afterMs) => `✓ The card stands in the chat after ${seconds(afterMs)} s. Tap it now.`,
    notSent: '✗ The card was not delivered:',
    noTap:
      '✗ No tap came back. `countersign doctor` checks the callback address; only people with an account here can tap. The card was closed.',
    interrupted: '✗ Stopped before a tap came. The card was closed.',
    tapped: (status, afterMs) => `✓ A tap arrived after ${seconds(afterMs)} s: ${status}.`,
    updated: (afterMs) => `✓ The card showed it within ${seconds(afterMs)} s.`,
    notUpdated: '✗ The card did not show it in time.',
  },
};
