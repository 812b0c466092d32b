import type { LocalizedText } from '../../locale.ts';

/** What people have to be told, in the words of the surface; the story looks for them. */
export const WORDS = {
  notAnApprover: { 'zh-CN': '不在这次请求的审批人之中', 'en-US': 'not an approver' },
  selfApproval: { 'zh-CN': '不能批准自己的请求', 'en-US': 'cannot approve your own request' },
  approved: { 'zh-CN': '已批准。', 'en-US': 'Approved.' },
  alreadyApproved: { 'zh-CN': '你已经批准过了', 'en-US': 'You have already approved' },
  alreadyDecided: { 'zh-CN': '李伟 已于', 'en-US': 'Already approved by 李伟' },
  expiredForYou: { 'zh-CN': '过期', 'en-US': 'xpired' },
  cardDone: { 'zh-CN': '已批准，执行成功', 'en-US': 'Approved and done' },
  noteDone: { 'zh-CN': '✅ 执行成功', 'en-US': '✅ Done at' },
  cardRejected: { 'zh-CN': '已拒绝', 'en-US': 'Rejected' },
  cardExpired: { 'zh-CN': '已过期', 'en-US': 'Expired' },
} as const satisfies Record<string, LocalizedText>;
