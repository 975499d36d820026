// SPDX-License-Identifier: GPL-2.0-only
/* The table of verbs, and those that are too small for files of their own. */
#include <linux/module.h>
#include <rdma/ib_mad.h>

#include "device.h"
#include "qp.h"
#include "req.h"
#include "ud.h"
#include "verbs.h"

struct hwsim_pd {
	struct ib_pd ib;
};

static int query_device(struct ib_device *ibdev, struct ib_device_attr *attr,
			struct ib_udata *udata)
{
	int ret = hwsim_fault_verb(&to_hwsim_dev(ibdev)->faults, HWSIM_VERB_QUERY_DEVICE);

	if (ret)
		return ret;
	memset(attr, 0, sizeof(*attr));
	attr->device_cap_flags = IB_DEVICE_MEM_MGT_EXTENSIONS | IB_DEVICE_RC_RNR_NAK_GEN |
				 IB_DEVICE_PORT_ACTIVE_EVENT | IB_DEVICE_SYS_IMAGE_GUID;
	attr->kernel_cap_flags = IBK_LOCAL_DMA_LKEY | IBK_ALLOW_USER_UNREG;
	attr->sys_image_guid = ibdev->node_guid;
	attr->max_mr_size = U64_MAX;
	attr->page_size_cap = ~(u64)(PAGE_SIZE - 1);
	attr->max_qp = HWSIM_MAX_QP;
	attr->max_qp_wr = HWSIM_MAX_QP_WR;
	attr->max_send_sge = HWSIM_MAX_SGE;
	attr->max_recv_sge = HWSIM_MAX_SGE;
	attr->max_sge_rd = HWSIM_MAX_SGE;
	attr->max_cq = HWSIM_MAX_QP;
	attr->max_cqe = HWSIM_MAX_CQE;
	attr->max_mr = HWSIM_MAX_MR;
	attr->max_pd = HWSIM_MAX_QP;
	attr->max_qp_rd_atom = HWSIM_MAX_RD_ATOMIC;
	attr->max_qp_init_rd_atom = HWSIM_MAX_RD_ATOMIC;
	attr->max_res_rd_atom = HWSIM_MAX_RD_ATOMIC * HWSIM_MAX_QP;
	attr->atomic_cap = IB_ATOMIC_HCA;
	attr->max_ah = HWSIM_MAX_QP;
	attr->max_srq = HWSIM_MAX_QP;
	attr->max_srq_wr = HWSIM_MAX_QP_WR;
	attr->max_srq_sge = HWSIM_MAX_SGE;
	attr->max_fast_reg_page_list_len = HWSIM_MAX_MR_PAGES;
	attr->max_pkeys = 1;
	attr->local_ca_ack_delay = HWSIM_ACK_DELAY;
	return 0;
}

static int query_pkey(struct ib_device *ibdev, u32 port, u16 index, u16 *pkey)
{
	int ret = hwsim_fault_verb(&to_hwsim_dev(ibdev)->faults, HWSIM_VERB_QUERY_PKEY);

	if (ret)
		return ret;
	if (index)
		return -EINVAL;
	*pkey = IB_DEFAULT_PKEY_FULL;
	return 0;
}

static enum rdma_link_layer get_link_layer(struct ib_device *ibdev, u32 port)
{
	return IB_LINK_LAYER_ETHERNET;
}

static int get_port_immutable(struct ib_device *ibdev, u32 port,
			      struct ib_port_immutable *immutable)
{
	immutable->core_cap_flags = RDMA_CORE_PORT_IBA_ROCE_UDP_ENCAP;
	immutable->pkey_tbl_len = 1;
	immutable->gid_tbl_len = HWSIM_GIDS;
	immutable->max_mad_size = IB_MGMT_MAD_SIZE;
	return 0;
}

static int alloc_pd(struct ib_pd *ibpd, struct ib_udata *udata)
{
	return hwsim_fault_verb(&to_hwsim_dev(ibpd->device)->faults, HWSIM_VERB_ALLOC_PD);
}

static int dealloc_pd(struct ib_pd *ibpd, struct ib_udata *udata)
{
	return 0;
}

static int post_recv(struct ib_qp *ibqp, const struct ib_recv_wr *wr,
		     const struct ib_recv_wr **bad)
{
	struct hwsim_qp *qp = to_hwsim_qp(ibqp);
	int ret = hwsim_fault_verb(&qp->dev->faults, HWSIM_VERB_POST_RECV);

	if (!ret && (qp->srq || READ_ONCE(qp->state) == IB_QPS_RESET))
		ret = -EINVAL;
	if (ret) {
		*bad = wr;
		return ret;
	}
	ret = hwsim_rq_post(&qp->rq, wr, bad);
	/* in error they are flushed at once; see hwsim_kick() for the order of the two */
	if (READ_ONCE(qp->state) == IB_QPS_ERR)
		hwsim_kick(&qp->kick);
	return ret;
}

static void get_fw_str(struct ib_device *ibdev, char *str)
{
	strscpy(str, "simulated", IB_FW_VERSION_NAME_MAX);
}

const struct ib_device_ops hwsim_ops = {
	.owner = THIS_MODULE,
	.driver_id = RDMA_DRIVER_UNKNOWN,

	.add_gid = hwsim_add_gid,
	.alloc_hw_port_stats = hwsim_alloc_hw_port_stats,
	.alloc_mr = hwsim_alloc_mr,
	.alloc_pd = alloc_pd,
	.create_ah = hwsim_create_ah,
	.create_cq = hwsim_create_cq,
	.create_qp = hwsim_create_qp,
	.create_srq = hwsim_create_srq,
	.dealloc_driver = hwsim_dealloc_driver,
	.dealloc_pd = dealloc_pd,
	.del_gid = hwsim_del_gid,
	.dereg_mr = hwsim_dereg_mr,
	.destroy_ah = hwsim_destroy_ah,
	.destroy_cq = hwsim_destroy_cq,
	.destroy_qp = hwsim_destroy_qp,
	.destroy_srq = hwsim_destroy_srq,
	.enable_driver = hwsim_enable_driver,
	.get_dev_fw_str = get_fw_str,
	.get_dma_mr = hwsim_get_dma_mr,
	.get_hw_stats = hwsim_get_hw_stats,
	.get_link_layer = get_link_layer,
	.get_port_immutable = get_port_immutable,
	.map_mr_sg = hwsim_map_mr_sg,
	.modify_qp = hwsim_modify_qp,
	.modify_srq = hwsim_modify_srq,
	.poll_cq = hwsim_poll_cq,
	.post_recv = post_recv,
	.post_send = hwsim_post_send,
	.post_srq_recv = hwsim_post_srq_recv,
	.query_device = query_device,
	.query_pkey = query_pkey,
	.query_port = hwsim_query_port,
	.query_qp = hwsim_query_qp,
	.query_srq = hwsim_query_srq,
	.reg_user_mr = hwsim_reg_user_mr,
	.req_notify_cq = hwsim_req_notify_cq,

	INIT_RDMA_OBJ_SIZE(ib_ah, hwsim_ah, ib),
	INIT_RDMA_OBJ_SIZE(ib_cq, hwsim_cq, ib),
	INIT_RDMA_OBJ_SIZE(ib_pd, hwsim_pd, ib),
	INIT_RDMA_OBJ_SIZE(ib_qp, hwsim_qp, ib),
	INIT_RDMA_OBJ_SIZE(ib_srq, hwsim_srq, ib),
};
