// The chip as host code asks for it.
#pragma once

#include "context.h"

namespace platform_ascendc {

enum class CoreMemType { L0_A = 0, L0_B = 1, L0_C = 2, L1 = 3, L2 = 4, UB = 5, HBM = 6, RESERVED };
enum class SocVersion { ASCEND910 = 0, ASCEND910B, ASCEND310P, ASCEND310B, ASCEND910_93, ASCEND950, RESERVED_VERSION = 99999 };
enum class ReservedSize { RESERVED_SIZE_8K, RESERVED_SIZE_16K, RESERVED_SIZE_32K };
enum class NpuArch { DAV_2201 = 2201, DAV_3510 = 3510, DAV_RESV = 0xffff };

class PlatformAscendC {
public:
    explicit PlatformAscendC(fe::PlatFormInfos* info) : info_(info ? info : &default_info()) {}
    uint32_t GetCoreNum() const { return info_->cube_cores; }
    uint32_t GetCoreNumAiv() const { return info_->vector_cores; }
    uint32_t GetCoreNumAic() const { return info_->cube_cores; }
    uint32_t GetCoreNumVector() const { return 0; }
    SocVersion GetSocVersion() const {
        const std::string& name = info_->soc;
        if (name.find("910B") != std::string::npos) return SocVersion::ASCEND910B;
        if (name.find("310P") != std::string::npos) return SocVersion::ASCEND310P;
        if (name.find("310B") != std::string::npos) return SocVersion::ASCEND310B;
        return SocVersion::ASCEND910;
    }
    NpuArch GetCurNpuArch() const { return NpuArch::DAV_2201; }
    template <class T> void GetCoreMemSize(const CoreMemType& type, T& size) const {
        static const int place[] = {2, 3, 4, 1, 7, 0, 7, 7};
        uint64_t bytes = info_->bytes[place[static_cast<int>(type)]];
        size = static_cast<T>(type == CoreMemType::UB ? bytes - std::min(bytes, reserved_) : bytes);
    }
    template <class T> void GetCoreMemBw(const CoreMemType& type, T& bandwidth) const {
        bandwidth = static_cast<T>(type == CoreMemType::L2 ? 110 : 32);
    }
    uint32_t CalcTschBlockDim(uint32_t slices, uint32_t, uint32_t) const { return slices; }
    uint32_t CalcTschNumBlocks(uint32_t slices, uint32_t, uint32_t) const { return slices; }
    uint32_t GetLibApiWorkSpaceSize() const { return 16u << 20; }
    uint32_t GetResCubeGroupWorkSpaceSize() const { return 1u << 20; }
    uint32_t GetResGroupBarrierWorkSpaceSize() const { return 1u << 20; }
    uint32_t GetVecRegLen() const { return 256; }
    // Of several calls the last one counts.
    void ReserveLocalMemory(ReservedSize size) { reserved_ = uint64_t(8192) << static_cast<int>(size); }
    static fe::PlatFormInfos& default_info() {
        static fe::PlatFormInfos one;
        return one;
    }

private:
    fe::PlatFormInfos* info_;
    uint64_t reserved_ = 0; // bytes of UB
};
class PlatformAscendCManager {
public:
    static PlatformAscendC* GetInstance() {
        static PlatformAscendC one(nullptr);
        return &one;
    }
    static PlatformAscendC* GetInstance(const char*) { return GetInstance(); }
};

} // namespace platform_ascendc
