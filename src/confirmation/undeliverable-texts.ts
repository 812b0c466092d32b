import type { Locale } from '../locale.ts';

/**
 * Why nobody could be asked, and what an operator does about it; for operators. By the reason that the decision records;
 * other reasons are sentences by themselves.
 */
export const UNDELIVERABLE_TEXTS: Readonly<Record<Locale, Readonly<Record<string, string>>>> = {
  'zh-CN': {
    channels_refused:
      '所有渠道都永久拒绝了卡片（channels_refused）。原因见完整请求中的“卡片发送”；运行 countersign doctor 查看如何修复，然后重新发起。',
    delivery_timeout:
      '在 deliveryTimeout 之内没有渠道收下卡片（delivery_timeout）。检查平台与网络，运行 countersign doctor，然后重新发起；可配置 fallback 备用渠道。',
    nobody_reachable:
      '策略只发私信，而审批人在其渠道中都没有可用账号（nobody_reachable）。在 people 中补上账号，或把 notify 改为 both，然后重新发起。',
  },
  'en-US': {
    channels_refused:
      'Every channel refused the card for good (channels_refused). The full request says why, under its cards; run `countersign doctor` for what to mend, then ask again.',
    delivery_timeout:
      'No channel took the card within deliveryTimeout (delivery_timeout). Check the platform and the network, run `countersign doctor`, then ask again; a `fallback` channel would have been asked.',
    nobody_reachable:
      'The policy writes to people directly, and no approver has an account in its channels (nobody_reachable). Add their accounts to `people`, or set notify to both, then ask again.',
  },
};
