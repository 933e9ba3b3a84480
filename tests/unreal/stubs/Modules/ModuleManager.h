#pragma once
class FDefaultModuleImpl {};
#define IMPLEMENT_MODULE(type, name) [[maybe_unused]] static type stub_module_of_##name;
